package redisbox

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/client"
)

// EditFiles changes files below a folder of the container, which may be stopped. edit gets the name and the content of
// each regular file, and returns the new content.
func (m *Master) EditFiles(ctx context.Context, dir string, edit func(name string, content []byte) []byte) error {
	defer m.docker.Close()
	from, err := m.docker.CopyFromContainer(ctx, m.id, client.CopyFromContainerOptions{SourcePath: dir + "/."})
	if err != nil {
		return m.fault("read the files of", err)
	}
	defer from.Content.Close()
	edited, err := editTar(from.Content, edit)
	if err != nil {
		return m.fault("read the files of", err)
	}
	_, err = m.docker.CopyToContainer(
		ctx,
		m.id,
		client.CopyToContainerOptions{DestinationPath: dir, Content: edited, CopyUIDGID: true},
	)
	return m.fault("write the files of", err)
}

func editTar(from io.Reader, edit func(name string, content []byte) []byte) (io.Reader, error) {
	var out bytes.Buffer
	r, w := tar.NewReader(from), tar.NewWriter(&out)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return &out, w.Close()
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			content = edit(h.Name, content)
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
}
