# The redlock command alone, static, not as root:
#
#   CGO_ENABLED=0 go build -trimpath -o bin/image/redlock ./cmd/redlock
#   docker build -f Dockerfile -t redlock bin/image        (make docker does both)
#
# "redlock run" runs commands of its own image: copy /redlock into the image of your program. This image has no
# certificate authorities: for rediss://, also with a certificate of a public authority, mount a file with them, and
# pass it with --tls-ca.
FROM scratch
COPY redlock /redlock
USER 65532:65532
ENTRYPOINT ["/redlock"]
