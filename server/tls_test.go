package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

// writeCertificate writes a self-signed certificate of 127.0.0.1 with a serial number.
func writeCertificate(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "settee"},
		NotBefore: time.Now().Add(
			-time.Hour,
		), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
}

// TestTLS: HTTP/2 by default, HTTP/1.1 where asked for, and a renewed certificate without a
// restart.
func TestTLS(t *testing.T) {
	s := servertest.New(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	_, err := server.TLSConfig(s.Config)
	require.Error(t, err, "no certificate")
	writeCertificate(t, cert, key, 1)
	s.Set("ssl", "cert_file", cert)
	s.Set("ssl", "key_file", key)
	config, err := server.TLSConfig(s.Config)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.ServeTLS(l, config) }()
	get := func(h2 bool) *http.Response {
		client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: h2, DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		r, err := client.Get("https://" + l.Addr().String() + "/_up")
		require.NoError(t, err)
		r.Body.Close()
		require.Equal(t, 200, r.StatusCode)
		return r
	}
	r := get(true)
	require.Equal(t, 2, r.ProtoMajor)
	require.EqualValues(t, 1, r.TLS.PeerCertificates[0].SerialNumber.Int64())
	require.Equal(t, 1, get(false).ProtoMajor)
	require.NoError(t, os.WriteFile(key, nil, 0o600), "a half-written pair keeps the old one in use")
	time.Sleep(server.CertificateAge + 50*time.Millisecond)
	require.EqualValues(t, 1, get(false).TLS.PeerCertificates[0].SerialNumber.Int64())
	writeCertificate(t, cert, key, 2)
	time.Sleep(server.CertificateAge + 50*time.Millisecond)
	require.EqualValues(t, 2, get(false).TLS.PeerCertificates[0].SerialNumber.Int64())
	_, err = tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11})
	require.Error(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	require.NoError(t, s.Shutdown(ctx))
	require.NoError(t, <-done)
}

// TestAuthoritiesAreReadAgain: whose certificates of clients are accepted is what cacert_file says when
// a connection begins.
func TestAuthoritiesAreReadAgain(t *testing.T) {
	s := servertest.New(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	writeCertificate(t, path("cert"), path("key"), 1)
	writeCertificate(t, path("a"), path("a.key"), 2)
	writeCertificate(t, path("b"), path("b.key"), 3)
	trust := func(name string) {
		text, err := os.ReadFile(path(name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path("authorities"), text, 0o600))
		time.Sleep(server.CertificateAge + 50*time.Millisecond)
	}
	trust("a")
	for name, value := range map[string]string{
		"cert_file": path("cert"), "key_file": path("key"), "cacert_file": path("authorities"),
		"verify_ssl_certificates": "true", "fail_if_no_peer_cert": "true",
	} {
		s.Set("ssl", name, value)
	}
	config, err := server.TLSConfig(s.Config)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.ServeTLS(l, config) }()
	get := func(name string) error {
		pair, err := tls.LoadX509KeyPair(path(name), path(name+".key"))
		require.NoError(t, err)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}}}}
		r, err := client.Get("https://" + l.Addr().String() + "/_up")
		if err == nil {
			err = r.Body.Close()
		}
		return err
	}
	require.NoError(t, get("a"))
	require.Error(t, get("b"))
	trust("b")
	require.NoError(t, get("b"))
	require.Error(t, get("a"))
	trust("b.key") // no certificate: those of before count
	require.NoError(t, get("b"))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	require.NoError(t, s.Shutdown(ctx))
	require.NoError(t, <-done)
}

// TestWireRulesHoldInTLS: HTTP/1.1 over TLS is read and answered as it is without, ambiguous
// requests end the connection, and a request knows that it came by TLS.
func TestWireRulesHoldInTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	s := servertest.New(t)
	s.Set("ssl", "cert_file", cert)
	s.Set("ssl", "key_file", key)
	tlsConfig, err := server.TLSConfig(s.Config)
	require.NoError(t, err)
	l := listenFor(t, s, func(l net.Listener) error { return s.ServeTLS(l, tlsConfig) })
	const next = "GET /_up HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, c := range []struct{ raw, want string }{
		{"POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + next,
			"(?s)^HTTP/1.1 404 .*Connection: close[^}]*}\n$"},
		{"GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", `(?s)^HTTP/1.1 400 .*"error":"bad_request"`},
		{"GET /_utils/none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "^HTTP/1.1 404 Object Not Found\r\n"},
		{"nonsense\r\n\r\n", "^HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\nServer: MochiWeb"},
	} {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = io.WriteString(conn, c.raw)
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Regexp(t, c.want, string(answer))
		require.NoError(t, conn.Close())
	}
	plain := from(t, "127.0.0.1", l)
	_, err = io.WriteString(plain, next)
	require.NoError(t, err)
	answer, err := io.ReadAll(plain)
	require.NoError(t, err)
	require.Contains(t, string(answer), "Client sent an HTTP request to an HTTPS server.")
}
