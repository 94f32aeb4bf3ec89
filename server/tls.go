package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server/wire"
)

// certificateAge is how long a certificate is used before its files are looked at again.
const certificateAge = time.Second

// certificateFiles is a certificate in PEM files. The files are read again after they change, so
// that a renewed certificate takes effect without a restart.
type certificateFiles struct {
	config  *config.Config
	mu      sync.Mutex
	loaded  *tls.Certificate
	version string // paths, sizes and times of the files
	checked time.Time
}

// TLSConfig makes the settings of HTTPS from the section ssl: certificate, versions, and whose
// client certificates are accepted. It fails when the certificate cannot be read now; later the
// last good one stays in use.
func TLSConfig(c *config.Config) (*tls.Config, error) {
	files := &certificateFiles{config: c}
	if _, err := files.current(nil); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	t := &tls.Config{
		MinVersion:     tlsVersion(c.String("ssl", "tls_versions")),
		GetCertificate: files.current,
		NextProtos:     []string{"h2", "http/1.1"},
	}
	if c.Bool("ssl", "verify_ssl_certificates") {
		var err error
		if t.ClientCAs, err = readAuthorities(c.String("ssl", "cacert_file")); err != nil {
			return nil, err
		}
		t.ClientAuth = tls.VerifyClientCertIfGiven
		if c.Bool("ssl", "fail_if_no_peer_cert") {
			t.ClientAuth = tls.RequireAndVerifyClientCert
		}
		version := config.FileVersion(c.String("ssl", "cacert_file"))
		authorities := &authorityFile{config: c, version: version, current: t.Clone()}
		t.GetConfigForClient = authorities.get
	}
	return t, nil
}

// readAuthorities reads those who sign certificates of clients.
func readAuthorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cacert_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("cacert_file: no certificate in it")
	}
	return pool, nil
}

// authorityFile is cacert_file, which is read again after it changes: connections that begin then are
// held to it. One that cannot be read leaves the last good one in use.
type authorityFile struct {
	config  *config.Config
	mu      sync.Mutex
	version string
	checked time.Time
	current *tls.Config
}

// get is the settings of TLS with the authorities of the file as it is now.
func (f *authorityFile) get(*tls.ClientHelloInfo) (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) < certificateAge {
		return f.current, nil
	}
	f.checked = time.Now()
	file := f.config.String("ssl", "cacert_file")
	version := config.FileVersion(file)
	if version == f.version {
		return f.current, nil
	}
	if pool, err := readAuthorities(file); err == nil {
		t := f.current.Clone()
		t.ClientCAs = pool
		f.current, f.version = t, version
	}
	return f.current, nil
}

// tlsVersion returns the oldest version of an Erlang list of them, ['tlsv1.2', 'tlsv1.3']; never
// below 1.2.
func tlsVersion(list string) uint16 {
	if strings.Contains(list, "tlsv1.3") && !strings.Contains(list, "tlsv1.2") {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

// current returns the certificate of the files as they are now.
func (f *certificateFiles) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded != nil && time.Since(f.checked) < certificateAge {
		return f.loaded, nil
	}
	f.checked = time.Now()
	cert, key := f.config.String("ssl", "cert_file"), f.config.String("ssl", "key_file")
	version := config.FileVersion(cert) + config.FileVersion(key)
	if f.loaded != nil && version == f.version {
		return f.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil && f.loaded != nil {
		return f.loaded, nil // half written: the next look will find both files
	}
	if err != nil {
		return nil, err
	}
	f.loaded, f.version = &pair, version
	return f.loaded, nil
}

// ServeTLS answers connections of l over TLS, with HTTP/2 where the client has it, until Shutdown.
func (s *Server) ServeTLS(l net.Listener, t *tls.Config) error {
	secure := wire.ListenTLS(s.connections.listen(l, ""), t, headTimeout)
	if err := s.echo.TLSServer.Serve(secure); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
