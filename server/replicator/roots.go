package replicator

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"math"
	"os"
	"sync"
	"time"

	"github.com/settee-db/settee/config"
)

// systemRoots are the authorities that the machine trusts.
var systemRoots roots

// roots are authorities that are read again after a time, which crypto/x509 never does.
type roots struct {
	mu   sync.Mutex
	read time.Time
	pool *x509.CertPool
}

// rootFiles are where Linux distributions keep the authorities, each in one file.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// get returns the authorities, read again where that was longer ago than an age; nil, which stands
// for those that crypto/x509 finds, where they are in none of the files
// (couch_replicator_utils:cacert_get).
func (r *roots) get(now time.Time, age time.Duration) *x509.CertPool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.IsZero() || now.Sub(r.read) > age {
		r.read, r.pool = now, readRoots()
	}
	return r.pool
}

// readRoots reads the authorities that the machine trusts, from the first file that has any; nil
// leaves it to Go's library.
func readRoots() *x509.CertPool {
	files := rootFiles
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		files = []string{file}
	}
	for _, file := range files {
		pool := x509.NewCertPool()
		if pem, err := os.ReadFile(file); err == nil && pool.AppendCertsFromPEM(pem) {
			return pool
		}
	}
	return nil
}

// trustFiles are the settings of TLS of replications, whose files are read again after they change.
// It is safe for concurrent use.
type trustFiles struct {
	config *config.Config

	mu      sync.Mutex
	version string      // settings; paths, sizes and times of the files that were read
	trust   *tls.Config // of the files
	last    *tls.Config // that with the authorities of the machine, where they count
}

// read reads the files. What cannot be read leaves things as they were: the next look may find files
// that are written whole. Before there was anything nobody is trusted.
func (f *trustFiles) read() error {
	version := f.config.String("replicator", "verify_ssl_certificates") + "\x00" +
		f.config.String("replicator", "ssl_certificate_max_depth") + "\x00"
	for _, key := range []string{"cert_file", "key_file", "ssl_trusted_certificates_file"} {
		version += config.FileVersion(f.config.String("replicator", key)) + "\x00"
	}
	if f.trust != nil && version == f.version {
		return nil
	}
	trust, err := replicatorTLS(f.config)
	if err != nil {
		f.trust = cmp.Or(f.trust, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()})
		return err
	}
	f.trust, f.version = trust, version
	return nil
}

// current are the settings as the files are now: the same pointer as before where nothing changed.
func (f *trustFiles) current() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.trust
	_ = f.read() // what was trusted before is; an error at the start was logged
	pool := f.trust.RootCAs
	if pool == nil && !f.trust.InsecureSkipVerify {
		hours := f.config.Int("replicator", "cacert_reload_interval_hours", math.MaxInt16)
		age := time.Duration(min(max(hours, 0), math.MaxInt16)) * time.Hour
		pool = systemRoots.get(time.Now(), max(age, time.Minute)) // it is asked with each request
	}
	if f.last == nil || f.trust != before || !pool.Equal(f.last.RootCAs) {
		f.last = f.trust.Clone()
		f.last.RootCAs = pool
	}
	return f.last
}
