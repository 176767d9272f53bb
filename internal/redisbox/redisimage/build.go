package redisimage

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/client"

	"github.com/redlock-go/redlock/internal/wallclock"
)

const (
	recipeLabel = "io.github.redlock-go.recipe"
	// recipe is raised whenever what follows makes another image, so that one made before is not taken for it.
	recipe = "2"
	// clockLabel is on an image that has ClockLibrary.
	clockLabel = "io.github.redlock-go.clock"
)

// ClockLibrary is where the image made here has the library that gives its server a clock of its own, to be preloaded
// (see package wallclock). Ask [HasClock] whether it has.
const ClockLibrary = "/usr/lib/redlock-wallclock.so"

// changes is what the image is told beside its files: what to run, and where.
func changes(recipe string, clock bool) []string {
	return []string{
		`ENTRYPOINT ["/usr/bin/redis-server"]`,
		`CMD ["--protected-mode", "no"]`,
		`EXPOSE 6379`,
		`WORKDIR /data`,
		`LABEL ` + recipeLabel + `=` + recipe,
		`LABEL ` + clockLabel + `=` + strconv.FormatBool(clock),
	}
}

const users = `root:x:0:0:root:/:/sbin/nologin
redis:x:999:999:redis:/data:/sbin/nologin
`

const groups = `root:x:0:
redis:x:999:
`

// errNoServer says what to do on a machine without what the image is made of.
var errNoServer = errors.New("no redis-server on this machine to make it of: install one with \"apt-get install redis-server\", " +
	"or name an image that is here or can be pulled in " + Env)

// build makes Local of this machine's redis-server and redis-cli, and the libraries they load.
func build(ctx context.Context, docker *client.Client) error {
	unlock, err := exclusive(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if current(ctx, docker) {
		return nil // by another process, in the meantime
	}
	return buildAs(ctx, docker, Local, recipe)
}

// buildAs makes the image called name, and removes the one that had the name before.
func buildAs(ctx context.Context, docker *client.Client, name, recipe string) error {
	if old, err := docker.ImageInspect(ctx, name); err == nil {
		defer func() { _, _ = docker.ImageRemove(ctx, old.ID, client.ImageRemoveOptions{}) }() // stays if a container uses it
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a container needs a Linux redis-server, and this is %s: name an image that is here or can be pulled in %s",
			runtime.GOOS, Env)
	}
	files, err := files(ctx)
	if err != nil {
		return err
	}
	library, err := clockLibrary(ctx)
	if err != nil {
		return err
	}
	if library != "" {
		files = append(files, library)
		defer os.Remove(library)
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(writeTree(w, files)) }()
	defer r.Close()
	result, err := docker.ImageImport(ctx, client.ImageImportSource{Source: r, SourceName: "-"}, name,
		client.ImageImportOptions{Message: "made of this machine's redis-server", Changes: changes(recipe, library != "")})
	if err != nil {
		return err
	}
	defer result.Close()
	_, err = io.Copy(io.Discard, result)
	return err
}

// clockLibrary builds the library, in a file that is the caller's to remove; "" where it cannot be had, and the image is
// made without it.
func clockLibrary(ctx context.Context) (string, error) {
	if wallclock.Available() != nil {
		return "", nil
	}
	f, err := os.CreateTemp("", "*-"+path.Base(ClockLibrary))
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(f.Close(), wallclock.Build(ctx, f.Name()))
}

// HasClock returns nil if the image has [ClockLibrary], or else says why not.
func HasClock(ctx context.Context, image string) error {
	docker, err := Docker(ctx)
	if err != nil {
		return err
	}
	defer docker.Close()
	found, err := docker.ImageInspect(ctx, image)
	switch {
	case err != nil:
		return err
	case found.Config != nil && found.Config.Labels[clockLabel] == "true":
		return nil
	case image != Local:
		return fmt.Errorf("the image %s has no library for a clock of its own: %s, made here, has it (%s=%[2]s)", image, Local, Env)
	default:
		return fmt.Errorf("the image %s was made on a machine without gcc, so its clock cannot be moved: install gcc and libc6-dev, remove the image, make it again", image)
	}
}

// files returns the programs of the image and what ldd lists for them, by their paths.
func files(ctx context.Context) ([]string, error) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errNoServer
	}
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		return nil, fmt.Errorf("redis-server is here but redis-cli is not: install it with \"apt-get install redis-tools\": %w", err)
	}
	libraries, err := Libraries(ctx, server, cli)
	if err != nil {
		return nil, err
	}
	return append([]string{server, cli}, libraries...), nil
}

// Libraries returns the paths of the shared libraries, the dynamic loader among them, that programs load: none if they are
// static.
func Libraries(ctx context.Context, programs ...string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "ldd", programs...).CombinedOutput()
	text := string(out)
	if err != nil && !strings.Contains(text, "not a dynamic executable") {
		return nil, fmt.Errorf("ldd %s: %w: %s", strings.Join(programs, " "), err, strings.TrimSpace(text))
	}
	return parseLdd(text)
}

func parseLdd(text string) ([]string, error) {
	var paths []string
	for line := range strings.Lines(text) {
		switch name, target, arrow := strings.Cut(strings.TrimSpace(line), " => "); {
		case arrow && strings.HasPrefix(target, "not found"):
			return nil, fmt.Errorf("ldd: %s is not found", name)
		case arrow: // libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)
			name = target
			fallthrough
		default: // /lib64/ld-linux-x86-64.so.2 (0x00007f), linux-vdso.so.1 (0x00007f), or "/usr/bin/redis-cli:"
			file, _, address := strings.Cut(name, " (")
			if address && strings.HasPrefix(file, "/") {
				paths = append(paths, file)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// writeTree writes the image's file system as a tar archive: files under the paths that they have here (links
// followed; the programs always in /usr/bin), and the few directories and tables that a server looks for.
func writeTree(w io.Writer, files []string) error {
	tree := tar.NewWriter(w)
	made := map[string]bool{"/": true}
	mkdir := func(dir string, mode int64, owner int) error {
		made[dir] = true
		return tree.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir[1:] + "/", Mode: mode, Uid: owner, Gid: owner})
	}
	var parents func(string) error
	parents = func(dir string) error {
		if made[dir] {
			return nil
		}
		if err := parents(path.Dir(dir)); err != nil {
			return err
		}
		return mkdir(dir, 0o755, 0)
	}
	if err := errors.Join(mkdir("/data", 0o777, 999), mkdir("/tmp", 0o1777, 0), mkdir("/etc", 0o755, 0),
		writeFile(tree, "/etc/passwd", 0o644, int64(len(users)), strings.NewReader(users)),
		writeFile(tree, "/etc/group", 0o644, int64(len(groups)), strings.NewReader(groups))); err != nil {
		return err
	}
	for _, file := range files {
		to := file
		switch base := filepath.Base(file); {
		case base == "redis-server" || base == "redis-cli":
			to = "/usr/bin/" + base
		case strings.HasSuffix(base, path.Base(ClockLibrary)):
			to = ClockLibrary
		}
		if err := parents(path.Dir(to)); err != nil {
			return err
		}
		if err := copyFile(tree, to, file); err != nil {
			return err
		}
	}
	return tree.Close()
}

func copyFile(tree *tar.Writer, to, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return writeFile(tree, to, 0o755, info.Size(), f)
}

func writeFile(tree *tar.Writer, name string, mode, size int64, content io.Reader) error {
	if err := tree.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name[1:], Mode: mode, Size: size}); err != nil {
		return err
	}
	_, err := io.Copy(tree, content)
	return err
}
