package main

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const (
	tlsCA         = "tls-ca"
	tlsCert       = "tls-cert"
	tlsKey        = "tls-key"
	tlsServerName = "tls-server-name"
)

func tlsFlags(cmd *cobra.Command) {
	settingFlag(cmd, tlsCA, "`file` with the certificate authorities (PEM) of rediss:// masters, in place of the system's")
	settingFlag(cmd, tlsCert, "`file` with this client's certificate (PEM)")
	settingFlag(cmd, tlsKey, "`file` with the key of --"+tlsCert+" (PEM)")
	settingFlag(cmd, tlsServerName, "`name` in the masters' certificates, if it is not the host in the URL")
}

// tlsConfig returns the TLS configuration of the flags and the environment, nil if they set nothing. The files are read
// now, so that a wrong one is an error before anything is sent.
func tlsConfig(cmd *cobra.Command, urls []string) (*tls.Config, error) {
	ca, cert, key, name := setting(cmd, tlsCA), setting(cmd, tlsCert), setting(cmd, tlsKey), setting(cmd, tlsServerName)
	if ca == "" && cert == "" && key == "" && name == "" {
		return nil, nil
	}
	switch {
	case (cert == "") != (key == ""):
		return nil, usage("--%s and --%s belong together: give both or none", tlsCert, tlsKey)
	case !slices.ContainsFunc(urls, usesTLS):
		return nil, usage("TLS is configured, but no master uses it: " +
			"write rediss:// in the URLs, or leave out --tls-… and $REDLOCK_TLS_…")
	}
	config := &tls.Config{ServerName: name}
	if ca != "" {
		pem, err := readText(ca)
		if err != nil {
			return nil, usage("--%s: %w", tlsCA, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usage("--%s: %s has no certificate in PEM", tlsCA, ca)
		}
	}
	if cert != "" {
		pair, err := readPair(cert, key)
		if err != nil {
			return nil, usage("--%s and --%s: %w", tlsCert, tlsKey, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// readPair reads a certificate and its key.
func readPair(cert, key string) (tls.Certificate, error) {
	public, err := readText(cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := readText(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(public, private)
}

func usesTLS(url string) bool {
	scheme, _, _ := strings.Cut(url, "://")
	return strings.EqualFold(scheme, "rediss")
}
