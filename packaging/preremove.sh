#!/bin/sh
# Before the files go. deb: "remove", or "upgrade", which stops nothing; rpm: how many versions stay.
set -e
case "${1:-}" in
  remove) [ ! -d /run/systemd/system ] || deb-systemd-invoke stop settee.service >/dev/null || true ;;
  0) [ ! -d /run/systemd/system ] || systemctl --no-reload disable --now settee.service >/dev/null 2>&1 || true ;;
esac
