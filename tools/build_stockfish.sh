#!/bin/sh
# Builds a Stockfish for this machine from a source folder, without downloading anything.
#
#   tools/build_stockfish.sh SOURCE_DIR [--out FILE] [--net FILE] [--arch ARCH] [--plain]
#
# SOURCE_DIR is a checkout of https://github.com/official-stockfish/Stockfish, best at the tag of the installed version:
# Debian's 15.1 is `sf_15.1`. The network that the sources name is taken from --net, from SOURCE_DIR/src, or exported from
# an installed Stockfish of the same version (its command `export_net`). Distributions build for older processors; this
# build uses what the processor has (BMI2, AVX2, AVX-512).
#
#   --out FILE    where the program goes [default: ~/.cache/tabia/stockfish, where `tabia-lab data label` looks first]
#   --net FILE    the network file
#   --arch ARCH   the ARCH of Stockfish's Makefile [default: by the flags of the processor]
#   --plain       without profile-guided optimisation: builds in a quarter of the time, a few percent slower
set -eu

fail() {
    echo "build_stockfish.sh: $1" >&2
    exit 1
}

usage() {
    sed -n '2,/^set -eu/ { /^set -eu/d; s/^# \{0,1\}//; p }' "$0"
}

source_dir= out=${XDG_CACHE_HOME:-$HOME/.cache}/tabia/stockfish net= arch= target=profile-build
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage; exit ;;
        --plain) target=build ;;
        --out | --net | --arch)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case $1 in
                --out) out=$2 ;;
                --net) net=$2 ;;
                --arch) arch=$2 ;;
            esac
            shift
            ;;
        -*) fail "unknown option $1; see --help" ;;
        *) [ -z "$source_dir" ] || fail "more than one source folder: $source_dir and $1"; source_dir=$1 ;;
    esac
    shift
done
[ -n "$source_dir" ] || fail "missing SOURCE_DIR; see --help"
src=$source_dir/src
[ -f "$src/Makefile" ] && [ -f "$src/evaluate.h" ] || fail "$source_dir is not a source folder of Stockfish: no src/evaluate.h"
command -v make >/dev/null || fail "make is not installed"
command -v "${CXX:-g++}" >/dev/null || fail "a C++ compiler is not installed (${CXX:-g++})"

# The ARCH of the Makefile for this processor.
detect() {
    case $(uname -m) in
        aarch64 | arm64) echo armv8; return ;;
        x86_64) ;;
        *) fail "unknown processor $(uname -m); pass --arch" ;;
    esac
    flags=" $(sed -n 's/^flags[^:]*://p' /proc/cpuinfo | head -n 1) "
    has() { case $flags in *" $1 "*) true ;; *) false ;; esac; }
    # On AMD before Zen 3 (family 25) PEXT is slower than what it replaces.
    slow_pext=false
    if grep -q AuthenticAMD /proc/cpuinfo; then
        family=$(sed -n 's/^cpu family[^:]*: *//p' /proc/cpuinfo | head -n 1)
        [ "${family:-0}" -ge 25 ] || slow_pext=true
    fi
    if has avx512_vnni && has avx512vl && has avx512bw; then echo x86-64-vnni256
    elif has bmi2 && ! $slow_pext; then echo x86-64-bmi2
    elif has avx2; then echo x86-64-avx2
    elif has sse4_1 && has popcnt; then echo x86-64-modern
    else echo x86-64
    fi
}
[ -n "$arch" ] || arch=$(detect)

# The names of the networks that the sources want; newer versions have two.
wanted=$(sed -n 's/.*define EvalFileDefaultName[A-Za-z]* *"\([^"]*\)".*/\1/p' "$src/evaluate.h")
[ -n "$wanted" ] || fail "$src/evaluate.h names no network; is this a Stockfish before 12?"
for name in $wanted; do
    if [ -n "$net" ]; then
        cp "$net" "$src/$name"
    elif [ ! -f "$src/$name" ]; then
        installed=$(command -v stockfish || true)
        [ -n "$installed" ] || installed=/usr/games/stockfish
        [ -x "$installed" ] || fail "the network $name is missing, and no Stockfish is installed to export it from; pass --net"
        echo "exporting $name from $installed"
        # Under the name that its contents have.
        (cd "$src" && printf 'export_net\nquit\n' | "$installed" >/dev/null) || true
        [ -f "$src/$name" ] || fail "$installed has another network than $name: take the sources of its version, or pass --net"
    fi
    # The name is the start of the SHA-256.
    sum=$(sha256sum "$src/$name" | cut -c 1-12)
    [ "nn-$sum.nnue" = "$name" ] || fail "$src/$name is damaged: its SHA-256 begins with $sum"
done

echo "building for $arch"
make -C "$src" -j "$(nproc 2>/dev/null || echo 2)" "$target" ARCH="$arch" COMP=gcc
mkdir -p "$(dirname "$out")"
cp "$src/stockfish" "$out.part"
mv "$out.part" "$out"
"$out" bench 16 1 4 2>/dev/null >/dev/null || fail "the program does not run here; pass another --arch"
echo "$out: $(printf 'uci\nquit\n' | "$out" | sed -n 's/^id name //p')"
