// Package testcert makes certificate authorities and certificates for tests of TLS.
package testcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A TB is what this package needs of a testing.TB.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	TempDir() string
}

// Authority is a certificate authority that only the test trusts.
type Authority struct {
	t    TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority.
func New(t TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redlock test authority"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, _ = x509.ParseCertificate(sign(t, template, template, &a.key.PublicKey, a.key))
	return a
}

// Pool holds the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Trusting returns a client's configuration that trusts the authority alone.
func (a *Authority) Trusting() *tls.Config { return &tls.Config{RootCAs: a.Pool()} }

// Certificate makes a certificate for a server with that name, which may be an IP address, that ends at that time.
func (a *Authority) Certificate(name string, ends time.Time) tls.Certificate {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: ends,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	return tls.Certificate{Certificate: [][]byte{sign(a.t, template, a.cert, &key.PublicKey, a.key)}, PrivateKey: key}
}

// Valid makes a certificate for a server on 127.0.0.1 that does not end during a test.
func (a *Authority) Valid() tls.Certificate {
	a.t.Helper()
	return a.Certificate("127.0.0.1", time.Now().Add(24*time.Hour))
}

// Files writes a certificate and its key into files, and the authority's certificate into a third.
func (a *Authority) Files(c tls.Certificate) (cert, key, authority string) {
	a.t.Helper()
	dir := a.t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			a.t.Fatalf("testcert: %v", err)
		}
		return path
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		a.t.Fatalf("testcert: %v", err)
	}
	return write("cert.pem", "CERTIFICATE", c.Certificate[0]), write("key.pem", "PRIVATE KEY", der),
		write("ca.pem", "CERTIFICATE", a.cert.Raw)
}

func newKey(t TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("testcert: %v", err)
	}
	return key
}

func sign(t TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatalf("testcert: %v", err)
	}
	return der
}
