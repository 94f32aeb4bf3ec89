package principal

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
)

func pemText(t testing.TB, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	require.NoError(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return strings.ReplaceAll(text, "\n", `\n`)
}

func signed(t testing.TB, method jwt.SigningMethod, kid string, key any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

func TestTokens(t *testing.T) {
	now := time.Unix(1e9, 0)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	secret := []byte("a secret of some length")
	r := &TokenRules{
		Keys: ParseKeys(map[string]string{
			"hmac:_default": base64.StdEncoding.EncodeToString(
				secret,
			), "hmac:bad": "!", "hmac:empty": "", "rsa:r": pemText(t, &rsaKey.PublicKey),
			"ec:e": pemText(t, &ecKey.PublicKey), "rsa:e": pemText(t, &ecKey.PublicKey), "ec:none": "x",
		}),
		Claims: ParseClaims("exp"), RolesName: "_couchdb.roles",
	}
	good := jwt.MapClaims{"sub": "joe", "exp": 2e9, "_couchdb.roles": []string{"a"}}
	for name, token := range map[string]string{
		"hmac": signed(t, jwt.SigningMethodHS256, "", secret, good),
		"rsa":  signed(t, jwt.SigningMethodRS384, "r", rsaKey, good),
		"ec":   signed(t, jwt.SigningMethodES256, "e", ecKey, good),
	} {
		user, roles, err := CheckToken(token, r, now)
		require.NoError(t, err, name)
		require.Equal(t, "joe", user)
		require.Equal(t, []string{"a"}, roles)
	}
	for _, c := range []struct{ token, reason string }{
		{signed(t, jwt.SigningMethodHS256, "", []byte("other"), good), "Bad HMAC in authentication token"},
		{signed(t, jwt.SigningMethodHS256, "bad", secret, good), "Not a valid key"},
		{signed(t, jwt.SigningMethodHS256, "empty", []byte{}, good), "Not a valid key"},
		{signed(t, jwt.SigningMethodRS256, "e", rsaKey, good), "not an RSA public key"},
		{signed(t, jwt.SigningMethodES256, "none", ecKey, good), "Not a valid key"},
		{signed(t, jwt.SigningMethodES256, "r", ecKey, good), "Unknown kid"},
		// The public key of another algorithm is no secret of HMAC.
		{signed(t, jwt.SigningMethodHS256, "r", []byte(pemText(t, &rsaKey.PublicKey)), good), "Unknown kid"},
		{signed(t, jwt.SigningMethodHS256, "", secret, jwt.MapClaims{"sub": "joe"}), "Missing exp claim"},
		{
			signed(t, jwt.SigningMethodHS256, "", secret, jwt.MapClaims{"sub": "joe", "exp": "soon"}),
			"Invalid exp claim",
		},
		{signed(t, jwt.SigningMethodHS256, "", secret, jwt.MapClaims{"sub": "joe", "exp": 5}), "exp not in future"},
		{signed(t, jwt.SigningMethodHS256, "", secret, jwt.MapClaims{"exp": 2e9}), "Token missing sub claim."},
		{signed(t, jwt.SigningMethodHS256, "", secret, jwt.MapClaims{"sub": 1, "exp": 2e9}), "Invalid sub claim"},
		{signed(t, jwt.SigningMethodNone, "", jwt.UnsafeAllowNoneSignatureType, good), "Invalid alg header parameter"},
		{"a.b", "Malformed authentication token"},
	} {
		_, _, err := CheckToken(c.token, r, now)
		require.ErrorContains(t, err, c.reason)
	}
	r.RolesPath = ParsePath(`realm.my\.roles`)
	_, roles, err := CheckToken(
		signed(
			t,
			jwt.SigningMethodHS256,
			"",
			secret,
			jwt.MapClaims{"sub": "joe", "exp": 2e9, "realm": map[string]any{"my.roles": "a, b"}},
		),
		r,
		now,
	)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, roles)
	r.Claims = ParseClaims("!")
	_, _, err = CheckToken("a.b.c", r, now)
	require.Equal(t, error(errMisconfigured), err)
	require.Equal(t, compat.KindError, errMisconfigured.Kind, "CouchDB throws it, so it has no ref")
	_, _, err = CheckToken("abc", r, now)
	require.Equal(t, error(errMalformed), err, "whoever sent it, it is no token")
}

// TestTokenCurve: the algorithm says the hash, the key says the curve, and both halves of a
// signature may be padded, as in CouchDB; but what is below 128 bits of security is refused.
func TestTokenCurve(t *testing.T) {
	for _, curve := range []elliptic.Curve{elliptic.P224(), elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
		r := &TokenRules{Keys: ParseKeys(map[string]string{"ec:_default": pemText(t, &key.PublicKey)})}
		for alg, hash := range map[string]crypto.Hash{
			"ES256": crypto.SHA256, "ES384": crypto.SHA384, "ES512": crypto.SHA512,
		} {
			text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`"}`)) + "." +
				base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"joe"}`))
			digest := hash.New()
			digest.Write([]byte(text))
			a, b, err := ecdsa.Sign(rand.Reader, key, digest.Sum(nil))
			require.NoError(t, err)
			for _, half := range []int{66, 70} {
				signature := append(a.FillBytes(make([]byte, half)), b.FillBytes(make([]byte, half))...)
				token := text + "." + base64.RawURLEncoding.EncodeToString(signature)
				_, _, err := CheckToken(token, r, time.Unix(1e9, 0))
				require.Equal(t, curve != elliptic.P224(), err == nil, "%s %s %v", alg, curve.Params().Name, err)
				for name, bad := range map[string][]byte{
					"odd": signature[1:], "cut": signature[:2*half-2], "none": nil, "changed": flipped(signature),
					"zeros": make([]byte, 2*half),
				} {
					token := text + "." + base64.RawURLEncoding.EncodeToString(bad)
					_, _, err := CheckToken(token, r, time.Unix(1e9, 0))
					require.Equal(t, error(errBadSignature), err, name)
				}
			}
		}
	}
}

func flipped(b []byte) []byte {
	out := bytes.Clone(b)
	out[len(out)-1] ^= 1
	return out
}

func TestParseClaims(t *testing.T) {
	require.Equal(t, map[string]string{"exp": "", "iss": "me too"}, ParseClaims(`exp, {iss, "me too"}`).names)
	require.Empty(t, ParseClaims("").names)
	for setting, broken := range map[string]bool{
		"": false, "exp,nbf,iat": false, `iss, exp`: false, "typ,kid": false,
		"sub": true, `exp, {aud, "me"}`: true, "exp,exp": true, `{exp, "1"}`: true, "alg": true, "!": true,
	} {
		require.Equal(t, broken, ParseClaims(setting).broken, setting)
	}
}

func FuzzToken(f *testing.F) {
	f.Add("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJqb2UifQ.xx")
	f.Add("e30.e30.x")
	r := &TokenRules{Keys: ParseKeys(map[string]string{"hmac:_default": "YQ=="}), RolesName: "roles"}
	f.Fuzz(func(t *testing.T, token string) {
		if name, _, err := CheckToken(token, r, time.Unix(1, 0)); (name == "") != (err != nil) {
			t.Fatal("a token names a user or is refused")
		}
	})
}

func FuzzKeys(f *testing.F) {
	f.Add("rsa:x", "-----BEGIN PUBLIC KEY-----\\nMA==\\n-----END PUBLIC KEY-----\\n")
	f.Add("hmac:", "YQ==")
	f.Fuzz(func(t *testing.T, name, key string) { ParseKeys(map[string]string{name: key}) })
}
