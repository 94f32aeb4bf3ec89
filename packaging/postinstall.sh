#!/bin/sh
# After the files came. deb: "configure" and the version before, if there was one; rpm: the number of versions installed.
set -e
systemd() { [ -d /run/systemd/system ]; }

case "${1:-}" in
  configure) # as Debian's dh_installsystemd: started at once, unless somebody has switched it off or policy-rc.d forbids it
    deb-systemd-helper unmask settee.service >/dev/null || true
    if deb-systemd-helper --quiet was-enabled settee.service; then
      deb-systemd-helper enable settee.service >/dev/null || true
    else
      deb-systemd-helper update-state settee.service >/dev/null || true
    fi
    if systemd; then
      systemctl --system daemon-reload >/dev/null || true
      if [ -n "${2:-}" ]; then action=restart; else action=start; fi
      deb-systemd-invoke "$action" settee.service >/dev/null || true
    fi
    first=${2:-first}
    ;;
  1) # rpm: the system's presets say what is started, which for a new service is nothing
    ! systemd || systemctl --system daemon-reload >/dev/null || true
    first=first
    echo "settee is not started yet: systemctl enable --now settee"
    ;;
  *)
    ! systemd || systemctl --system daemon-reload >/dev/null || true
    exit 0
    ;;
esac
if [ "$first" = first ]; then
  cat <<'EOF'
settee: http://127.0.0.1:5984/_console/ after its start, settings in /etc/settee/local.ini, data in /var/lib/settee.
The first start makes up the password of the administrator "admin", unless one is set in local.ini before:
  journalctl -u settee --grep 'Created the administrator'
EOF
fi
