package redisbox

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/redlock-go/redlock/clock"
)

// Every container is labelled with the machine and the process that it belongs to.
const (
	labelHost = "io.github.redlock-go.host"
	labelPID  = "io.github.redlock-go.pid"
)

// forgotten is the age from which a container is removed whatever its labels say: nothing here runs for that long.
const forgotten = 12 * time.Hour

var swept sync.Once

func labels() map[string]string {
	host, _ := os.Hostname()
	return map[string]string{labelHost: host, labelPID: strconv.Itoa(os.Getpid())}
}

// sweepOnce is sweep for the first Start of a process.
func sweepOnce(ctx context.Context, docker *client.Client) {
	swept.Do(func() { sweep(ctx, docker) })
}

// sweep removes the containers of processes that died before they could. Those of live processes, and of other machines
// that share this Docker, stay. Failing to sweep is no reason not to start.
func sweep(ctx context.Context, docker *client.Client) {
	found, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelPID)})
	if err != nil {
		return
	}
	for _, box := range found.Items {
		if leftover(box) {
			_, _ = docker.ContainerRemove(ctx, box.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		}
	}
}

func leftover(box container.Summary) bool {
	if clock.System.Now().Sub(time.Unix(box.Created, 0)) > forgotten {
		return true
	}
	host, err := os.Hostname()
	pid, notNumber := strconv.Atoi(box.Labels[labelPID])
	return err == nil && notNumber == nil && box.Labels[labelHost] == host && dead(pid)
}

// dead reports whether no process with that id runs on this machine. In doubt it says no.
func dead(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return true // only Windows tells here
	}
	err = process.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}
