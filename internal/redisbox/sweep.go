package redisbox

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/moby/moby/client"

	"github.com/redlock-go/redlock/clock"
)

// Every container is labeled with the machine and the process that it belongs to.
const (
	labelHost = "io.github.redlock-go.host"
	labelPID  = "io.github.redlock-go.pid"
)

// forgotten is the age at which a container is removed whatever its labels say, because no test runs for that long.
const forgotten = 12 * time.Hour

var swept sync.Once

// owner is this process. If it dies before it removes its containers, the next process that starts masters does.
var owner = os.Getpid()

// labels name this machine and a process.
func labels(pid int) map[string]string {
	host, _ := os.Hostname()
	return map[string]string{labelHost: host, labelPID: strconv.Itoa(pid)}
}

// sweep removes the containers of processes that died before they removed them. It keeps those of live processes and of
// other machines that share this Docker. A failure does not keep masters from starting.
func sweep(ctx context.Context, docker *client.Client) {
	ours := client.Filters{}.Add("label", labelPID)
	boxes, err := docker.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	if err != nil {
		return
	}
	for _, box := range boxes.Items {
		if clock.System.Now().Sub(time.Unix(box.Created, 0)) > forgotten || orphan(box.Labels) {
			_, _ = docker.ContainerRemove(ctx, box.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		}
	}
}

// orphan reports whether the labels name a process of this machine that is dead.
func orphan(labels map[string]string) bool {
	host, err := os.Hostname()
	pid, notNumber := strconv.Atoi(labels[labelPID])
	return err == nil && notNumber == nil && labels[labelHost] == host && dead(pid)
}

// dead reports whether no process with that id runs on this machine. If that is unknown, it returns false.
func dead(pid int) bool {
	process, err := os.FindProcess(pid) // fails on Windows only, and only if there is no such process
	return err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
