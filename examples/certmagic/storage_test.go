package certmagic_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/redlock-go/redlock"
	example "github.com/redlock-go/redlock/examples/certmagic"
	"github.com/redlock-go/redlock/redlocktest"
)

// issuer signs certificates slowly, and counts them.
type issuer struct {
	key    *ecdsa.PrivateKey
	locker *redlock.Locker
	issued atomic.Int32
	locked atomic.Int32 // of them, under a lock on the masters
}

func (*issuer) IssuerKey() string { return "test" }

func (i *issuer) Issue(ctx context.Context, csr *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	i.issued.Add(1)
	if h, err := i.locker.Inspect(ctx, "issue_cert_"+csr.DNSNames[0]); err == nil && len(h.Holders) == 1 {
		i.locked.Add(1)
	}
	time.Sleep(100 * time.Millisecond)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: csr.DNSNames,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, csr.PublicKey, i.key)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &certmagic.IssuedCertificate{Certificate: text.Bytes()}, err
}

func open(t *testing.T, masters []*redlocktest.Master) *redlock.Locker {
	t.Helper()
	l, err := redlock.Open(redlocktest.URLs(masters), redlock.WithNodeTimeout(2*time.Second)) // a busy machine
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

func TestOneMachineObtainsACertificate(t *testing.T) {
	t.Parallel()
	masters, dir := redlocktest.Start(t, 3), t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ca := &issuer{key: key, locker: open(t, masters)}
	var machines sync.WaitGroup
	for range 4 {
		locker := open(t, masters)
		var config *certmagic.Config
		cache := certmagic.NewCache(certmagic.CacheOptions{
			GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return config, nil },
			Logger:           zap.NewNop(),
		})
		t.Cleanup(cache.Stop)
		config = certmagic.New(cache, certmagic.Config{
			Storage: example.NewStorage(locker, dir), Issuers: []certmagic.Issuer{ca}, Logger: zap.NewNop(),
		})
		machines.Go(func() { assert.NoError(t, config.ObtainCertSync(t.Context(), "example.org")) })
	}
	machines.Wait()
	assert.EqualValues(t, 1, ca.issued.Load(), "the others find it in the storage")
	assert.EqualValues(t, 1, ca.locked.Load())
}
