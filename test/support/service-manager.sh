#!/bin/sh
# Stands in for systemctl: starts and stops what the units below the folder ROOT say, with their
# environment and credentials. It ignores what has no unit there.
set -eu
action=$1
shift
if [ "${1-}" = --now ]; then action=$action-now && shift; fi

runs() { readlink "/proc/$1/exe" >/dev/null; }

for name; do
  unit=$ROOT/etc/systemd/system/$name.service pid=$ROOT/run/$name.pid
  values() { cat "$unit" "$unit".d/*.conf 2>/dev/null | sed -n "s/^$1=//p"; }
  case $action in reload) [ ! -e "$pid" ] || kill -HUP "$(cat "$pid")" ;; esac
  case $action in stop | restart | disable-now)
    if [ -e "$pid" ]; then
      kill "$(cat "$pid")" 2>/dev/null || true
      while runs "$(cat "$pid")"; do sleep 0.02; done
      rm "$pid"
    fi ;;
  esac
  case $action in start | restart | enable-now) [ -e "$unit" ] || continue ;; *) continue ;; esac
  (umask 077 && mkdir -p "$ROOT/var/lib/$(values StateDirectory)")
  credential=$(values LoadCredential)
  [ -z "$credential" ] || cp "${credential#*:}" "$ROOT/run/${credential%%:*}"
  # Tests listen on this machine only.
  set -- $(values Environment | sed "s|%S|$ROOT/var/lib|g; s|%d|$ROOT/run|g; s|0\.0\.0\.0|127.0.0.1|")
  set -- env "$@" $(values ExecStart)
  if [ "$(values Type)" = oneshot ]; then "$@" && continue; fi
  : >"$ROOT/run/ready"
  "$@" </dev/null >"$ROOT/run/ready" 2>>"$ROOT/journal" &
  echo "$!" >"$pid"
  # systemd does not wait for the ready line; it saves the test asking again and again.
  while [ "$(values Type)" = exec ] && [ ! -s "$ROOT/run/ready" ] && runs "$!"; do sleep 0.02; done
done
