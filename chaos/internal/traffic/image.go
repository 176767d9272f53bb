package traffic

import (
	"archive/tar"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"

	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

// Image makes a container image of a program of this machine, with nothing in it but that, the shared libraries that it
// loads and /tmp, and returns its name, which no other has. It takes a fraction of a second.
func Image(ctx context.Context, program string) (string, error) {
	if f, err := elf.Open(program); err != nil {
		return "", fmt.Errorf("%s is no Linux program: %w", program, err)
	} else if err := f.Close(); err != nil {
		return "", err
	}
	libraries, err := redisimage.Libraries(ctx, program)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("redlock-chaos:%016x", rand.Uint64())
	args := []string{"import", "-c", `ENTRYPOINT ["/client"]`}
	for key, value := range redisbox.Labels() {
		args = append(args, "-c", fmt.Sprintf("LABEL %s=%q", key, value))
	}
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(tree(w, program, libraries)) }()
	cmd := exec.CommandContext(ctx, "docker", append(args, "-", name)...)
	cmd.Stdin = r
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make the image %s of %s: %w: %s", name, program, err, strings.TrimSpace(string(out)))
	}
	return name, nil
}

// tree writes the image's files.
func tree(to io.Writer, program string, libraries []string) error {
	w := tar.NewWriter(to)
	err := errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}), add(w, program, "client"))
	for _, path := range libraries {
		err = errors.Join(err, add(w, path, strings.TrimPrefix(path, "/")))
	}
	return errors.Join(err, w.Close())
}

// add writes the file that is at path, links followed.
func add(w *tar.Writer, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
