#!/bin/sh
# What has to be there before cargo can build anything, `cargo xtask` included: a C compiler, which Rust links with,
# and Rust itself. As root on Debian and Ubuntu the compiler is installed; all else is said in one line.
set -eu

# A compiler without its C library links nothing.
links() {
    command -v cc >/dev/null 2>&1 || return 1
    folder=$(mktemp -d)
    linked=1
    printf 'int main(void) { return 0; }\n' | cc -x c -o "$folder/program" - >/dev/null 2>&1 || linked=0
    rm -r "$folder"
    [ "$linked" = 1 ]
}

if ! links && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "no C compiler that links: installing the packages gcc and libc6-dev" >&2
    # A fresh image knows no packages, or old ones.
    apt-get update >&2
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends gcc libc6-dev >&2
fi
if ! links; then
    echo "error: found no C compiler that links, expected cc: install gcc and the C library's headers" \
        "(Debian and Ubuntu: sudo apt-get install gcc libc6-dev)" >&2
    exit 1
fi
if ! command -v cargo >/dev/null 2>&1; then
    echo "error: found no cargo, expected Rust: install rustup from https://rustup.rs" \
        "(or Debian's: apt-get install rustup, then rustup default stable)" >&2
    exit 1
fi
if ! command -v rustup >/dev/null 2>&1; then
    echo "found cargo without rustup: what is for this computer builds; firmware needs rustup for its targets" >&2
fi
echo "all is there: go on with cargo xtask demo"
