# SPDX-License-Identifier: GPL-2.0
#
# Shell functions shared by the scripts: messages, the cache directory, locks,
# and a private apt.
#
# The private apt keeps its own source list (Debian's entries of the host, with
# deb-src added) and its own package lists in the cache. It lets anybody
# download Debian packages and sources without root and without touching the
# host's configuration. Source this file; it only defines things.
# shellcheck shell=bash

IRDMA_CACHE=${IRDMA_CACHE:-${XDG_CACHE_HOME:-${HOME:-~}/.cache}/irdma-e810}

# How old the private package lists may be before they are fetched again.
APT_MAX_AGE_MIN=1440

# note TEXT...: a progress line, on stderr so that stdout carries only answers.
note() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# die TEXT...: one line on stderr, exit status 1.
die() {
	note "$*"
	exit 1
}

# kbuild takes no space or colon in the path of the headers, QEMU no comma in an
# image's; and make runs these scripts in other folders than the user is in.
case $IRDMA_CACHE in
*[[:space:]:,]*) die "the cache '$IRDMA_CACHE' has a space, colon or comma in its name" ;;
/*) ;;
*) die "the cache '$IRDMA_CACHE' is no absolute path" ;;
esac

# need TOOL PACKAGE: end with one line when TOOL is not installed.
need() {
	command -v "$1" >/dev/null 2>&1 ||
		die "$1 is missing: install the package $2 (scripts/deps does)"
}

# le_word FILE OFFSET SIZE: an unsigned little-endian number.
le_word() {
	od -An -v "-tu$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# extract_vmlinux VMLINUZ OUT: take the compressed ELF out of a bzImage. The
# boot protocol's header says where it lies; its last four bytes are the
# uncompressed size, which the decompressors must not see.
extract_vmlinux() {
	local in=$1 out=$2 sects offset length unpack

	sects=$(le_word "$in" $((0x1f1)) 1)
	offset=$((($(le_word "$in" $((0x248)) 4)) + (sects + 1) * 512))
	length=$(($(le_word "$in" $((0x24c)) 4) - 4))
	case $(od -An -tx1 -j "$offset" -N 4 "$in" | tr -d ' ') in
	28b52ffd) unpack=zstd ;;
	fd377a58) unpack=xz ;;
	*) die "${in##*/} is compressed in an unknown way" ;;
	esac
	dd if="$in" bs=64K iflag=skip_bytes,count_bytes skip="$offset" count="$length" \
		status=none | "$unpack" -dcq >"$out" ||
		die "cannot extract vmlinux from ${in##*/}"
}

# cache_folder NAME: make that folder of the cache, if it is not there.
cache_folder() {
	mkdir -p "$IRDMA_CACHE/$1" 2>/dev/null || die "cannot write to the cache $IRDMA_CACHE"
}

# lock NAME: hold a lock of that name until the script ends, waiting for it.
lock() {
	cache_folder locks
	: 2>/dev/null >>"$IRDMA_CACHE/locks/$1" ||
		die "cannot write to the cache $IRDMA_CACHE"
	exec {LOCK_FD}>"$IRDMA_CACHE/locks/$1"
	if ! flock -w 3 "$LOCK_FD"; then
		note "waiting for another run that prepares $1"
		flock "$LOCK_FD"
	fi
}

# papt TOOL ARGS...: run apt-get or apt-cache with the private configuration.
papt() {
	local tool=$1
	shift
	"$tool" -q -c "$IRDMA_CACHE/apt/apt.conf" "$@"
}

# debian_sources: Debian's entries of the host's source list, one
# "uri suite component..." a line.
debian_sources() {
	# shellcheck disable=SC2016 # the placeholders are apt's
	apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | sed -n 's/^Debian //p' | sort -u
}

# apt_configure: write the private configuration.
apt_configure() {
	local apt=$IRDMA_CACHE/apt
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg opt=
	local sources entry

	sources=$(debian_sources)
	if [ -z "$sources" ] && [ "$(id -u)" = 0 ]; then
		note "no package lists yet: running apt-get update"
		apt-get -qq update || die "apt-get update failed"
		sources=$(debian_sources)
	fi
	[ -n "$sources" ] ||
		die "apt knows no Debian package lists: run apt-get update as root first"
	[ ! -e "$keyring" ] || opt="[signed-by=$keyring] "
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	: >"$apt/status"
	while read -r entry; do
		printf 'deb %s\ndeb-src %s\n' "$opt$entry" "$opt$entry"
	done <<<"$sources" >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-CONF
		Dir::State::Lists "$apt/lists";
		Dir::State::status "$apt/status";
		Dir::Cache::Archives "$apt/archives";
		Dir::Cache::pkgcache "$apt/pkgcache.bin";
		Dir::Cache::srcpkgcache "$apt/srcpkgcache.bin";
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "-";
		APT::Sandbox::User "$(id -un)";
		APT::Update::Post-Invoke { "true"; };
		Acquire::Languages "none";
		#clear APT::Update::Post-Invoke-Success;
	CONF
}

# apt_refresh now|if-old: bring the private lists up to date, at once or if they
# are old. Old lists that cannot be renewed still serve, with a warning.
apt_refresh() {
	local apt=$IRDMA_CACHE/apt

	need apt-get apt
	lock apt
	if [ "$1" = now ] ||
	   [ -z "$(find "$apt/stamp" -mmin "-$APT_MAX_AGE_MIN" 2>/dev/null)" ]; then
		note "fetching Debian's package lists"
		apt_configure
		if papt apt-get -q=2 --error-on=any update >"$apt/log" 2>&1; then
			touch "$apt/stamp"
		elif [ -e "$apt/stamp" ]; then
			note "cannot renew Debian's package lists, using the old ones"
		else
			die "cannot fetch Debian's package lists: $(grep -m1 '^E:' "$apt/log")"
		fi
	fi
	flock -u "$LOCK_FD"
}
