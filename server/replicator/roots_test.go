package replicator

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
)

// TestSystemRoots: the authorities of the machine are read again after the time that is set, not
// before; where they are in no file, crypto/x509 finds them.
func TestSystemRoots(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "roots.pem")
	t.Setenv("SSL_CERT_FILE", file)
	trusted := func(pool *x509.CertPool) bool {
		_, err := server.Certificate().Verify(x509.VerifyOptions{Roots: pool, DNSName: "example.com"})
		return err == nil
	}
	now := time.Now()
	var r roots
	require.Nil(t, r.get(now, time.Hour))
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	require.Nil(t, r.get(now.Add(time.Hour), time.Hour), "not read again yet")
	require.True(t, trusted(r.get(now.Add(time.Hour+1), time.Hour)))
	require.NoError(t, os.Remove(file))
	require.True(t, trusted(r.get(now.Add(2*time.Hour), time.Hour)), "not read again yet")
	require.Nil(t, r.get(now.Add(2*time.Hour), 0))
}

// TestVerifiedWithoutFile: verify_ssl_certificates alone is no error, and asks for a certificate of
// the machine's authorities.
func TestVerifiedWithoutFile(t *testing.T) {
	c, err := config.Load(map[string]map[string]string{"replicator": {"verify_ssl_certificates": "true"}})
	require.NoError(t, err)
	trust, err := replicatorTLS(c)
	require.NoError(t, err)
	require.False(t, trust.InsecureSkipVerify)
	require.Nil(t, trust.RootCAs)
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	trust.RootCAs = new(roots).get(time.Now(), time.Hour)
	_, err = tls.Dial("tcp", server.Listener.Addr().String(), trust)
	require.ErrorAs(t, err, new(*tls.CertificateVerificationError))
}
