package node

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What may be a password never appears in an error.
func TestWhatIsRedactedOfAURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"redis://h:6379":                 "redis://h:6379",
		"redis://h:6379/0?password=s":    "redis://h:6379/0?xxxxx",
		"redis://me:s@h:6379":            "redis://xxxxx@h:6379",
		"redis://me:s@x@h:6379?a=s":      "redis://xxxxx@h:6379?xxxxx",
		"redis://h:s":                    "redis://xxxxx",
		"redis://@h:6379":                "redis://xxxxx@h:6379",
		"unix://me:s/run/redis":          "unix://xxxxx",
		"redis://[::1]:6379":             "redis://[::1]:6379",
		"redis://[::1]:s":                "redis://xxxxx",
		"unix:///run/redis:s":            "unix:///run/redis:s",
		"redis+tls://me:s@h":             "redis+tls://xxxxx@h",
		"s:e://cret@h:6379":              "xxxxx@h:6379",
		"secret:6379":                    "secret:6379",
		"secret:word":                    "xxxxx",
		"abc":                            "abc",
		"abc?s":                          "abc?xxxxx",
		"rediss://user:p@ss/w?rd@h:6379": "rediss://xxxxx@h:6379",
	} {
		shown, _, secret := redact(raw)
		assert.Equal(t, want, shown, "%q", raw)
		assert.Equal(t, want != raw && want != redactQuery(raw), secret, "%q", raw)
	}
}
