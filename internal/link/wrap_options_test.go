package link

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// Without a deadline, a frozen master would keep Close from ending: a wrapped client's connection cannot be closed.
func TestAWrappedClientHasDeadlines(t *testing.T) {
	t.Parallel()
	const off = -1
	single := redis.NewClient(&redis.Options{MaxRetries: off, WriteTimeout: off})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{MaxRetries: off, MaxRedirects: off, WriteTimeout: off})
	t.Cleanup(func() { assert.NoError(t, single.Close()); assert.NoError(t, cluster.Close()) })
	assert.Positive(t, withoutRetries(single).Options().WriteTimeout)
	own := clusterWithoutRetries(cluster)
	t.Cleanup(func() { assert.NoError(t, own.Close()) })
	assert.Positive(t, own.Options().WriteTimeout)
}
