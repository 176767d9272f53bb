// Command replicas is a service that runs as several replicas, without a cluster manager that elects for it. Each
// replica serves HTTP; one of them, the leader, also schedules. A test kills and freezes it replica by replica.
//
//	replicas -name web-1 -listen 127.0.0.1:8001 -masters redis://…,redis://…,redis://… -store http://…
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
)

// ttl is how long a crashed replica keeps what it had locked. Every replica uses the same.
const ttl = 2 * time.Second

func main() {
	name := flag.String("name", "web-1", "of this replica")
	listen := flag.String("listen", "127.0.0.1:8001", "address to serve HTTP at")
	masters := flag.String("masters", "", "URLs of the masters, separated by commas")
	store := flag.String("store", "", "URL of the store, which refuses writes of an earlier term")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *name, *listen, *masters, *store); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name, listen, masters, store string) error {
	locker, err := redlock.Open(strings.Split(masters, ","), redlock.WithTTL(ttl), redlock.WithOwner(name))
	if err != nil {
		return err
	}
	defer locker.Close()
	r := &replica{name: name, store: store, locker: locker, election: election.New(locker, "service:scheduler")}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return r.serve(ctx, listen) })
	work.Go(func() error { return r.election.Run(ctx, r.schedule) })
	return work.Wait()
}

// replica is one process of the service.
type replica struct {
	name, store string
	locker      *redlock.Locker
	election    *election.Election
}

// schedule runs while this replica leads. It resigns when ctx ends.
func (r *replica) schedule(ctx context.Context) error {
	lock, _ := redlock.FromContext(ctx)
	for {
		if err := r.write(ctx, "schedule", lock.Fence()); err != nil {
			log.Printf("%s: %v", r.name, err) // the next tick tries again, or ctx has ended
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// write sends a write to the store, with the fencing token that it checks.
func (r *replica) write(ctx context.Context, what string, fence uint64) error {
	to := r.store + "/" + what + "?" + url.Values{
		"replica": {r.name}, "fence": {strconv.FormatUint(fence, 10)},
	}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s with fence %d: %s", what, fence, resp.Status)
	}
	return nil
}

// serve answers requests until ctx ends.
func (r *replica) serve(ctx context.Context, listen string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /leader", r.showLeader)
	server := &http.Server{Addr: listen, Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// showLeader answers with the leader: any replica can.
func (r *replica) showLeader(w http.ResponseWriter, req *http.Request) {
	leader, err := r.election.Leader(req.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(leader)
}
