// Command terraform is an HTTP backend for Terraform's state whose LOCK and UNLOCK are a quorum lock, so that several
// servers may serve one state. See https://developer.hashicorp.com/terraform/language/backend/http.
//
//	terraform {
//	  backend "http" {
//	    address        = "http://127.0.0.1:8003/state/production"
//	    lock_address   = "http://127.0.0.1:8003/state/production"
//	    unlock_address = "http://127.0.0.1:8003/state/production"
//	  }
//	}
//
// The server that locked a state keeps the lock, so an UNLOCK must reach it: the load balancer must be sticky. If the
// server dies, the lock ends with its TTL, and Terraform's next write is refused.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/redlock-go/redlock"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8003", "address to serve HTTP at")
	dir := flag.String("dir", "states", "directory of the states, which all servers share")
	masters := flag.String("masters", os.Getenv("REDLOCK_MASTERS"), "URLs of the masters, separated by commas")
	flag.Parse()
	err := os.MkdirAll(*dir, 0o700)
	if err != nil {
		log.Fatal(err)
	}
	locker, err := redlock.Open(strings.Split(*masters, ","))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(*listen, newBackend(locker, *dir)))
}

// backend serves states and their locks.
type backend struct {
	locker *redlock.Locker
	dir    string

	mu    sync.Mutex
	locks map[string]held // by the name of the state
}

// held is a lock that Terraform has asked for.
type held struct {
	lock *redlock.Lock
	id   string // Terraform's
	info []byte // what Terraform shows to those who must wait
}

func newBackend(locker *redlock.Locker, dir string) http.Handler {
	b := &backend{locker: locker, dir: dir, locks: make(map[string]held)}
	mux := http.NewServeMux()
	mux.HandleFunc("LOCK /state/{name}", b.lock)
	mux.HandleFunc("UNLOCK /state/{name}", b.unlock)
	mux.HandleFunc("GET /state/{name}", b.read)
	mux.HandleFunc("POST /state/{name}", b.write)
	return mux
}

// lock answers 200, or 423 and the info of the holder.
func (b *backend) lock(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	info, id, err := readInfo(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	lock, err := b.locker.TryLock(r.Context(), "terraform:"+name)
	if errors.Is(err, redlock.ErrHeld) {
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(b.holder(name))
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.locks[name] = held{lock, id, info}
}

// holder returns the info of the lock on a state; {} if another server has the lock.
func (b *backend) holder(name string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h, ok := b.locks[name]; ok && h.lock.Err() == nil {
		return h.info
	}
	return []byte("{}")
}

// unlock answers 200, or 409 if the lock is not held under Terraform's id. A force-unlock has no body: it ends the lock
// whatever its id.
func (b *backend) unlock(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	_, id, err := readInfo(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	h, ok := b.locks[name]
	if ok = ok && (id == "" || id == h.id); ok {
		delete(b.locks, name)
	}
	b.mu.Unlock()
	if !ok {
		http.Error(w, "the state is not locked with this ID at this server", http.StatusConflict)
		return
	}
	if err := h.lock.Unlock(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusConflict) // lost: another run may have written
	}
}

func (b *backend) read(w http.ResponseWriter, r *http.Request) {
	state, err := os.ReadFile(b.file(r))
	if errors.Is(err, os.ErrNotExist) {
		w.WriteHeader(http.StatusNoContent) // a new state
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(state)
}

// write replaces a state, under the lock whose ID Terraform sends along.
func (b *backend) write(w http.ResponseWriter, r *http.Request) {
	state, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	h, ok := b.locks[r.PathValue("name")]
	b.mu.Unlock()
	if !ok || h.id != r.URL.Query().Get("ID") {
		http.Error(w, "the state is not locked with this ID", http.StatusConflict)
		return
	}
	switch err := replace(b.file(r), state, h.lock.Err); {
	case errors.Is(err, redlock.ErrLost), errors.Is(err, redlock.ErrReleased):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// replace replaces a file as a whole, if may returns nil. It calls may as late as possible.
func replace(file string, text []byte, may func() error) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := may(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// file returns the file of a state. Names that differ have files that differ, even where the case of a file's name does
// not count: each byte but a small letter, a digit, - and _ is written as % and two digits.
func (b *backend) file(r *http.Request) string {
	var file strings.Builder
	for _, c := range []byte(r.PathValue("name")) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' {
			file.WriteByte(c)
		} else {
			fmt.Fprintf(&file, "%%%02x", c)
		}
	}
	return filepath.Join(b.dir, file.String()+".tfstate")
}

// readInfo reads the lock info that Terraform sends; an empty body has no ID.
func readInfo(r *http.Request) (info []byte, id string, err error) {
	if info, err = io.ReadAll(r.Body); err != nil || len(info) == 0 {
		return nil, "", err
	}
	var fields struct{ ID string }
	err = json.Unmarshal(info, &fields)
	return info, fields.ID, err
}
