package fencing_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/examples/fencing"
)

// objects is a store with ETags and conditional writes, as object stores have them.
type objects struct {
	mu    sync.Mutex
	all   map[string]object
	count int
	// before, if set, is called before a request is looked at.
	before func(*http.Request)
}

type object struct {
	etag string
	body []byte
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o.before != nil {
		o.before(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now, there := o.all[r.URL.Path]
	if r.Method == http.MethodGet {
		if !there {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", now.etag)
		_, _ = w.Write(now.body)
		return
	}
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if match != "" && (!there || match != now.etag) || none == "*" && there {
		http.Error(w, "precondition failed", http.StatusPreconditionFailed)
		return
	}
	o.count++
	o.all[r.URL.Path] = object{etag: fmt.Sprintf(`"%d"`, o.count), body: body}
}

func bucket(t *testing.T) (fencing.Bucket, *objects) {
	t.Helper()
	o := &objects{all: map[string]object{}}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	return fencing.Bucket{URL: server.URL, Client: server.Client()}, o
}

func current(t *testing.T, b fencing.Bucket) string {
	t.Helper()
	body, err := b.Load(t.Context(), "nightly")
	require.NoError(t, err)
	return string(body)
}

func TestABucketRefusesALateWrite(t *testing.T) {
	t.Parallel()
	b, _ := bucket(t)
	_, err := b.Load(t.Context(), "nightly")
	require.ErrorContains(t, err, "no such object")
	save := func(fence uint64, text string) error { return b.Save(t.Context(), fence, "nightly", []byte(text)) }
	refusesLateWrites(t, save, func() string { return current(t, b) })
}

// Between the comparison and the write anything can happen. The store refuses the write then, and the writer looks
// again.
func TestABucketRefusesAWriteWhoseComparisonIsOld(t *testing.T) {
	t.Parallel()
	early, late := paused(t)
	for name, first := range map[string]bool{"on a head that is there": false, "on the first head": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, o := bucket(t)
			if !first {
				require.NoError(t, b.Save(t.Context(), 1, "nightly", []byte("old")))
			}
			var once sync.Once
			o.before = func(r *http.Request) {
				if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/head") {
					once.Do(func() {
						o.before = nil
						assert.NoError(t, b.Save(t.Context(), late, "nightly", []byte("the second holder's")))
					})
				}
			}
			require.ErrorIs(t, b.Save(t.Context(), early, "nightly", []byte("the first holder's")), fencing.ErrStale)
			assert.Equal(t, "the second holder's", current(t, b))
		})
	}
}

func TestABucketsOtherAnswersAreErrors(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "later", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	b := fencing.Bucket{URL: server.URL, Client: server.Client()}
	require.ErrorContains(t, b.Save(t.Context(), 1, "nightly", nil), "503")
	_, err := b.Load(t.Context(), "nightly")
	require.ErrorContains(t, err, "503")
}
