package fencing

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Bucket keeps reports in a store that is reached by HTTP and knows conditional writes: If-Match with an ETag, and
// If-None-Match. It compares no numbers, so the writer compares them, and the store makes sure that what the writer
// compared with is still there when it writes.
type Bucket struct {
	URL    string // of the bucket, without a slash at its end
	Client *http.Client
}

// head is the object that says which version of a report is the present one.
type head struct {
	Fence   uint64 `json:"fence"`
	Version string `json:"version"` // the name of the object that holds it
}

// Save stores a report as a new object, and then makes the head point to it unless the head has a later holder's token.
// Save may be repeated. The object of a refused Save stays, and nothing refers to it.
func (b Bucket) Save(ctx context.Context, fence uint64, name string, body []byte) error {
	mine := head{Fence: fence, Version: fmt.Sprintf("%s/%d-%s", name, fence, rand.Text())}
	if err := b.put(ctx, mine.Version, body, "If-None-Match", "*"); err != nil {
		return err
	}
	text, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	for {
		last, etag, err := b.head(ctx, name)
		if err != nil {
			return err
		}
		if last.Fence > fence {
			return ErrStale
		}
		condition, value := "If-Match", etag
		if etag == "" {
			condition, value = "If-None-Match", "*"
		}
		if err = b.put(ctx, name+"/head", text, condition, value); !errors.Is(err, errChanged) {
			return err
		}
		// Another writer was faster: read its token.
	}
}

// Load returns the present version of a report.
func (b Bucket) Load(ctx context.Context, name string) ([]byte, error) {
	last, etag, err := b.head(ctx, name)
	if err != nil {
		return nil, err
	}
	if etag == "" {
		return nil, errMissing
	}
	body, _, err := b.get(ctx, last.Version)
	return body, err
}

var (
	errChanged = errors.New("the object is not the one that was expected")
	errMissing = errors.New("there is no such object")
)

// head reads a report's head and its ETag; nothing if there is none yet.
func (b Bucket) head(ctx context.Context, name string) (h head, etag string, err error) {
	text, etag, err := b.get(ctx, name+"/head")
	if errors.Is(err, errMissing) {
		return head{}, "", nil
	}
	if err != nil {
		return head{}, "", err
	}
	err = json.Unmarshal(text, &h)
	return h, etag, err
}

func (b Bucket) get(ctx context.Context, object string) (body []byte, etag string, err error) {
	response, err := b.send(ctx, http.MethodGet, object, nil)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return body, response.Header.Get("ETag"), err
}

func (b Bucket) put(ctx context.Context, object string, body []byte, header ...string) error {
	response, err := b.send(ctx, http.MethodPut, object, body, header...)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// send sends a request with a header, and makes errors of the answers that are none.
func (b Bucket) send(
	ctx context.Context,
	method, object string,
	body []byte,
	header ...string,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, b.URL+"/"+object, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := b.Client.Do(request)
	if err != nil || response.StatusCode < 300 {
		return response, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusNotFound:
		return nil, errMissing
	case http.StatusPreconditionFailed, http.StatusConflict: // S3 has the second where two write at once
		return nil, errChanged
	default:
		return nil, fmt.Errorf("%s %s: %s", method, object, response.Status)
	}
}
