#!/usr/bin/env bash
# Makes and finds container images without a registry. It needs bash and the docker command.
#
#   image.sh redis               prints the name of an image with a Redis server, and makes one if it must
#
# For redis, the image is $REDLOCK_REDIS_IMAGE (default redis:7-alpine) if it is here or can be pulled, and otherwise
# redlock-redis:local, which is made of this machine's redis-server and redis-cli. Progress goes to standard error.
set -eu -o pipefail

fail() { echo "redisimage: $*" >&2; exit 1; }
say() { echo "redisimage: $*" >&2; }

local_image=redlock-redis:local
recipe=3 # raise it when make_redis makes a different image; an image of another recipe is made again
recipe_label=io.github.redlock-go.recipe
clock_label=io.github.redlock-go.clock

# tree FILE=PATH...: writes a tar archive of the files, their libraries, and the directories that a server needs.
tree() {
  local root pair libraries
  root=$(mktemp -d)
  mkdir -p "$root"/{data,tmp,etc}
  chmod 0777 "$root/data"
  chmod 1777 "$root/tmp"
  printf '%s\n' 'root:x:0:0:root:/:/sbin/nologin' 'redis:x:999:999:redis:/data:/sbin/nologin' >"$root/etc/passwd"
  printf '%s\n' 'root:x:0:' 'redis:x:999:' >"$root/etc/group"
  libraries=$(ldd "${@%%=*}" 2>&1 || true) # a static program has none
  case $libraries in *"not found"*) rm -rf "$root"; fail "a library is missing: $libraries" ;; esac
  for pair in "$@" $(sed -nE 's,^[^/]*(/[^ :]+) \(0x.*,\1=\1,p' <<<"$libraries" | sort -u); do
    install -D -m 0755 "${pair%%=*}" "$root${pair#*=}"
  done
  tar -C "$root" --owner=0 --group=0 -cf - .
  rm -rf "$root"
}

# pack NAME CHANGE... -- FILE=PATH...: makes the image NAME of files of this machine, each under its PATH there, and of
# the shared libraries that they load; a CHANGE is a line of a Dockerfile.
pack() {
  local name=$1 changes=()
  shift
  while [ "$1" != -- ]; do changes+=(-c "$1") && shift; done
  shift
  tree "$@" | docker import "${changes[@]}" - "$name" >/dev/null
}

has() { docker image inspect "$1" >/dev/null 2>&1; }

current() {
  [ "$(docker image inspect -f "{{index .Config.Labels \"$recipe_label\"}}" "$local_image" 2>/dev/null)" = $recipe ]
}

make_redis() {
  local server cli library=() old
  [ "$(uname)" = Linux ] || fail "a container needs a Linux redis-server, and this is $(uname): set REDLOCK_REDIS_IMAGE to an image that is here or can be pulled"
  server=$(command -v redis-server) || fail 'there is no redis-server on this machine to make an image of: run "apt-get install redis-server", or set REDLOCK_REDIS_IMAGE to an image that is here or can be pulled'
  cli=$(command -v redis-cli) || fail 'redis-server is here but redis-cli is not: run "apt-get install redis-tools"'
  if [ -n "${REDLOCK_CLOCK_LIBRARY:-}" ]; then library=("$REDLOCK_CLOCK_LIBRARY=/usr/lib/redlock-wallclock.so"); fi
  say "making $local_image of this machine's redis-server"
  old=$(docker image inspect -f '{{.Id}}' "$local_image" 2>/dev/null || true)
  pack "$local_image" 'ENTRYPOINT ["/usr/bin/redis-server"]' 'CMD ["--protected-mode", "no"]' 'EXPOSE 6379' 'WORKDIR /data' \
    "LABEL $recipe_label=$recipe" "LABEL $clock_label=$([ ${#library[@]} = 0 ] && echo false || echo true)" \
    -- "$server=/usr/bin/redis-server" "$cli=/usr/bin/redis-cli" "${library[@]}"
  [ -z "$old" ] || docker image rm "$old" >/dev/null 2>&1 || true # it stays while a container uses it
}

redis() {
  local wanted=${REDLOCK_REDIS_IMAGE:-}
  docker info >/dev/null 2>&1 || fail "Docker is not reachable: $(docker info 2>&1 >/dev/null | tr '\n' ' ')"
  if [ -z "$wanted" ]; then
    wanted=redis:7-alpine
    if ! has $wanted && current; then wanted=$local_image; fi
  fi
  if [ "$wanted" != "$local_image" ] && ! has "$wanted"; then
    say "pulling $wanted"
    if ! timeout 300 docker pull -q "$wanted" >&2; then
      say "$wanted is not here and cannot be pulled"
      wanted=$local_image
    fi
  fi
  if [ "$wanted" = "$local_image" ] && ! current; then
    exec 9>"${TMPDIR:-/tmp}/redlock-redis-image.lock" # two processes that make it would leave an image without a name
    flock 9
    current || make_redis
  fi
  echo "$wanted"
}

"$@"
