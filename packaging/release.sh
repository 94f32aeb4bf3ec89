#!/usr/bin/env bash
# Builds all that a release consists of into dist/, from the commit that is checked out: archives with the program for each
# system, packages, an SBOM and checksums. The same commit and tool chain give the same bytes. Runs on Linux with GNU tar and zip.
# usage: release.sh [archives]     without packages and SBOM, whose tools come from the module proxy
#   TARGETS   the systems (all); packages are made for those of linux
set -euo pipefail
cd "$(dirname "$0")/.."

NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
CYCLONEDX=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
all='linux/amd64 linux/arm64 linux/armv7 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64'
read -ra targets <<<"${TARGETS:-$all}"
go=${GO:-go}

for tool in git npm tar gzip zip sha256sum; do
  command -v "$tool" >/dev/null || { echo "release: $tool is not installed" >&2; exit 1; }
done
if [ -n "$(git status --porcelain)" ]; then
  git status --short >&2
  echo "release: the tree has changes that no commit has" >&2
  exit 1
fi
VERSION=$(sed -n 's/^const release = "\(.*\)"$/\1/p' cmd/settee/version.go)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export VERSION SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C CGO_ENABLED=0
rm -rf dist
mkdir dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# Licences of what the program is made of, for all systems: most ask for their text beside the binary. Those of the console are
# fetched, since the tree has it as it was built.
third_party() {
  echo "settee contains the Go runtime and the libraries below, under these licences."
  local module version dir file
  mkdir "$work/console"
  cp console/package.json console/package-lock.json "$work/console"
  (cd "$work/console" && npm ci --omit=dev --ignore-scripts --no-audit --no-fund --silent)
  { echo "go $($go env GOVERSION) $($go env GOROOT)"
    for os in linux darwin windows; do
      GOOS=$os $go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/settee
    done | sort -u
    (cd "$work/console" && npm ls --all --omit=dev --parseable --long) | sed 1d | sort -u |
      sed -E 's/^([^:]+):(.+)@([^@:]+).*$/\2 \3 \1/'
  } | while read -r module version dir; do
    found=
    for file in "$dir"/{LICENSE,LICENCE,COPYING,NOTICE,License,license}*; do
      [ -f "$file" ] || continue
      found=yes
      printf '\n==== %s %s: %s\n\n' "$module" "$version" "${file##*/}"
      cat "$file"
    done
    [ -n "$found" ] || { echo "release: no licence in $module $version" >&2; return 1; }
  done
}

build() { # build GOOS ARCH FILE
  local arch=$2 arm=
  [ "$arch" != armv7 ] || { arch=arm arm=7; }
  # without git's details, as whoever builds it from the source archive does
  GOOS=$1 GOARCH=$arch GOARM=$arm $go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$3" ./cmd/settee
}

third_party >"$work/THIRD-PARTY"
for target in "${targets[@]}"; do
  os=${target%/*} arch=${target#*/}
  name=settee_${VERSION}_${os}_${arch}
  stage=$work/$name
  mkdir "$stage"
  program=settee
  [ "$os" != windows ] || program=settee.exe
  echo "release: $name"
  build "$os" "$arch" "$stage/$program"
  cp LICENSE README.md CHANGELOG.md "$work/THIRD-PARTY" "$stage"
  chmod 0755 "$stage/$program"
  find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" '{}' +
  if [ "$os" = windows ]; then
    (cd "$work" && find "$name" | sort | zip -X -q "$OLDPWD/dist/$name.zip" -@)
  else
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar -C "$work" -cf - "$name" |
      gzip -n -9 >"dist/$name.tar.gz"
  fi
done

if [ "${1-}" != archives ]; then
  for target in "${targets[@]}"; do
    [ "${target%/*}" = linux ] || continue
    arch=${target#*/}
    for format in deb rpm; do
      STAGE=$work/settee_${VERSION}_linux_$arch PACKAGE_ARCH=${arch/armv7/arm7} \
        $go run "$NFPM" package --config packaging/nfpm.yaml --packager "$format" --target dist/
    done
  done
  # from what the program says it is made of, so that neither tags nor the kind of checkout matter
  $go run "$CYCLONEDX" bin -json -licenses -noserial -notimestamp -std -version "v$VERSION" \
    -output "dist/settee_${VERSION}_sbom.cdx.json" "$work/settee_${VERSION}_${targets[0]/\//_}"/settee*
fi
(cd dist && sha256sum -- * >SHA256SUMS)
cat dist/SHA256SUMS
