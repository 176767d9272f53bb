// Command replicas is a service that runs as several replicas, without a cluster manager that elects for it. Each
// replica serves HTTP. One of them, the leader, also schedules. At most two at a time, on all replicas together, let
// the store render a report, which is expensive. Once per period one replica runs the nightly job. A test kills and
// freezes the service replica by replica.
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

const (
	// ttl is how long a crashed replica keeps what it had locked. Every replica uses the same.
	ttl = 2 * time.Second
	// renderers is how many reports are rendered at the same time.
	renderers = 2
)

func main() {
	name := flag.String("name", "web-1", "of this replica")
	listen := flag.String("listen", "127.0.0.1:8001", "address to serve HTTP at")
	masters := flag.String("masters", "", "URLs of the masters, separated by commas")
	store := flag.String("store", "", "URL of the store, which refuses writes of an earlier term")
	period := flag.Duration("period", 24*time.Hour, "of the nightly job")
	keep := flag.Duration("keep", time.Second, "how long no replica repeats the nightly job; more than the clocks differ")
	behind := flag.Duration("behind", 0, "how far the clock of this replica is behind, for a test")
	flag.Parse()
	if *store == "" {
		log.Fatal("-store: pass the URL of a store that refuses writes of an earlier term, such as that of the test")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *name, *listen, *masters, *store, *period, *keep, *behind)
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name, listen, masters, store string, period, keep, behind time.Duration) error {
	locker, err := redlock.Open(strings.Split(masters, ","), redlock.WithTTL(ttl), redlock.WithOwner(name))
	if err != nil {
		return err
	}
	defer locker.Close()
	r := &replica{
		name: name, store: store, locker: locker,
		election: election.New(locker, "service:scheduler"), reports: locker.Semaphore("service:reports", renderers),
	}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return r.serve(ctx, listen) })
	work.Go(func() error { return r.election.Run(ctx, r.schedule) })
	work.Go(func() error { return r.runNightly(ctx, period, keep, behind) })
	return work.Wait()
}

// replica is one process of the service.
type replica struct {
	name, store string
	locker      *redlock.Locker
	election    *election.Election
	reports     *redlock.Semaphore
}

// schedule runs while this replica leads. It resigns when ctx ends.
func (r *replica) schedule(ctx context.Context) error {
	for {
		if err := r.write(ctx, "schedule"); err != nil {
			log.Printf("%s: %v", r.name, err) // the next tick tries again, or ctx has ended
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runNightly runs the nightly job at every full period by the clock of this replica, unless another one does.
func (r *replica) runNightly(ctx context.Context, period, keep, behind time.Duration) error {
	for {
		now := time.Now().Add(-behind)
		select {
		case <-time.After(now.Truncate(period).Add(period).Sub(now)):
		case <-ctx.Done():
			return ctx.Err()
		}
		err := r.nightly(ctx, keep)
		if err != nil && !errors.Is(err, redlock.ErrHeld) { // held: another replica runs it, or has just run it
			log.Printf("%s: nightly: %v", r.name, err)
		}
	}
}

// nightly runs the job once. A replica whose clock is up to keep behind finds the name still taken.
func (r *replica) nightly(ctx context.Context, keep time.Duration) error {
	lock, err := r.locker.TryLock(ctx, "service:nightly", redlock.WithFencing(), redlock.WithMinHold(keep))
	if err != nil {
		return err
	}
	work, cancel := lock.WithContext(ctx)
	defer cancel()
	return errors.Join(r.write(work, "nightly"), lock.Unlock(ctx))
}

// write sends a write to the store, under the lock of ctx. The store refuses the write if a later leader or job has
// written, or if it would not be done before the lock ends: the process may have been paused.
func (r *replica) write(ctx context.Context, what string) error {
	lock, _ := redlock.FromContext(ctx)
	to := r.store + "/" + what + "?" + url.Values{
		"replica": {r.name}, "fence": {strconv.FormatUint(lock.Fence(), 10)},
		"until": {strconv.FormatInt(lock.Until().UnixMicro(), 10)},
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
		return fmt.Errorf("%s with fence %d: %s", what, lock.Fence(), resp.Status)
	}
	return nil
}

// serve answers requests until ctx ends.
func (r *replica) serve(ctx context.Context, listen string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /leader", r.showLeader)
	mux.HandleFunc("GET /report", r.showReport)
	server := &http.Server{Addr: listen, Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = server.Shutdown(context.WithoutCancel(ctx)) // a report that is being rendered keeps its permit to the end
	})
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-over
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

// showReport lets the store render a report. The request waits while others render as many as the store bears.
func (r *replica) showReport(w http.ResponseWriter, req *http.Request) {
	err := r.reports.Do(req.Context(), func(ctx context.Context) error {
		// The store goes on if the request is canceled, so the permit must last until it has answered.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ttl)
		defer cancel()
		return r.write(ctx, "report")
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}
