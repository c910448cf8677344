#!/bin/sh
# install_test.sh BUILD: installs a build into a folder of its own, moves it, and uses what is there:
# the program, the manual page, and the library from a project that knows only find_package.
set -e
build=$1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
"$work/moved/bin/trainfit" gpus rtx-4090 >/dev/null
grep -q 'SH SYNOPSIS' "$work/moved/share/man/man1/trainfit.1"
"$work/moved/bin/trainfit" __complete fit mistralai/Mistral-7B-v0.1 --on 8xh100 | grep -qx 8xh100-sxm
cmake -S "$root/examples/fit" -B "$work/example" -DCMAKE_PREFIX_PATH="$work/moved" >/dev/null
cmake --build "$work/example" >/dev/null
"$work/example/fit_example"
