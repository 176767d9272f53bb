package redisproc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	slots        = 16384
	joinTimeout  = 30 * time.Second
	clusterReply = 5 * time.Second // for one command while it joins
)

// StartCluster starts n servers as one Cluster of n masters, with the slots divided in their order. It returns when
// each of them knows the cluster. On failure it leaves none running. The caller must close all of them.
func StartCluster(ctx context.Context, n int) ([]*Server, error) {
	servers, err := StartN(ctx, n, "--cluster-enabled", "yes", "--cluster-node-timeout", "15000",
		"--cluster-require-full-coverage", "no")
	if err != nil {
		return nil, err
	}
	if err := join(ctx, servers); err != nil {
		return nil, errors.Join(fmt.Errorf("redisproc: join a Cluster: %w", err), CloseAll(servers))
	}
	return servers, nil
}

func join(ctx context.Context, servers []*Server) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	clients := make([]*redis.Client, len(servers))
	for i, s := range servers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr(), ReadTimeout: clusterReply})
		defer c.Close()
		clients[i] = c
		first, last := i*slots/len(servers), (i+1)*slots/len(servers)-1
		add, epoch := c.ClusterAddSlotsRange(ctx, first, last), c.Do(ctx, "cluster", "set-config-epoch", i+1)
		if err := errors.Join(add.Err(), epoch.Err()); err != nil {
			return err
		}
	}
	for _, s := range servers[1:] {
		if err := clients[0].ClusterMeet(ctx, "127.0.0.1", strconv.Itoa(s.port.Number())).Err(); err != nil {
			return err
		}
	}
	for _, c := range clients {
		for {
			info, err := c.ClusterInfo(ctx).Result()
			if err == nil && strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_slots_assigned:%d", slots)) &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(servers))) {
				break
			}
			select {
			case <-ctx.Done():
				return errors.Join(ctx.Err(), err)
			case <-time.After(readyPoll):
			}
		}
	}
	return nil
}
