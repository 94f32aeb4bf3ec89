#!/bin/sh
# Fetches Fauxton, CouchDB's web interface (Apache-2.0), from npm and puts its ready build into a directory.
set -eu
target=${1:?directory}
version=${FAUXTON_VERSION:-1.2.6}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "fauxton@$version" >/dev/null && tar xzf "fauxton-$version.tgz")
rm -rf "$target"
mkdir -p "$(dirname "$target")"
cp -R "$work/package/dist/release" "$target"
