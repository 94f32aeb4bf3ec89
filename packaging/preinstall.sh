#!/bin/sh
# Before the files come (deb and rpm): the user that the server runs as, and that may read /etc/settee.
set -e
getent group settee >/dev/null || groupadd --system settee
getent passwd settee >/dev/null ||
  useradd --system --gid settee --home-dir /var/lib/settee --no-create-home --shell /usr/sbin/nologin settee
