#!/bin/sh
# Starts a program, such as a broker, that cannot outlive its parent, not even one that is killed
# with SIGKILL.
#
#   guard.sh DIRECTORY COMMAND...      file descriptor 3: a pipe held open by the parent
#
# This process becomes the program, so that its id and exit status are the program's. A child of it
# reads the pipe:
#   a line                the program has ended and the parent knows: nothing to do
#   the end of the pipe   the parent is gone: kill the program and remove its directory

directory=$1
shift
(
  if read -r _ <&3; then exit 0; fi
  kill -KILL $$ 2>/dev/null
  tries=0
  while kill -0 $$ 2>/dev/null && [ "$tries" -lt 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  rm -rf "$directory"
) >/dev/null 2>&1 &
exec "$@" 3<&-
