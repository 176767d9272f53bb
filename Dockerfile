# The redlock command alone, static, not as root:
#
#   CGO_ENABLED=0 go build -trimpath -o bin/image/redlock ./cmd/redlock
#   docker build -f Dockerfile -t redlock bin/image        (make docker does both)
#
# "redlock run" runs commands of its own image: copy /redlock into the image of your program.
FROM scratch
COPY redlock /redlock
USER 65532:65532
ENTRYPOINT ["/redlock"]
