#!/bin/sh
# The image's entry point. "settee", nothing, or options start the server on all addresses with the data in the volume;
# any other command runs as it is.
set -eu

case "${1:-settee}" in
  settee)
    [ $# -eq 0 ] || shift
    # "settee version", "settee check …" are commands of the binary itself
    case "${1:-}" in
      '' | -*) ;;
      *) exec settee "$@" ;;
    esac
    ;;
  -*) ;;
  *) exec "$@" ;;
esac
exec settee serve --bind 0.0.0.0 --port 5984 --data /opt/couchdb/data "$@"
