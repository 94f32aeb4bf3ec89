package principal

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"

	"github.com/settee-db/settee/compat"
)

// Keys are the keys of section jwt_keys, each read once. A key that cannot be used refuses the
// tokens that name it.
type Keys map[string]jwtKey

// jwtKey is a []byte, *rsa.PublicKey or *ecdsa.PublicKey, or the refusal.
type jwtKey struct {
	value   any
	refusal *compat.Error
}

var (
	errNotKey     = badToken("Not a valid key")
	errNotRSA     = badToken("not an RSA public key")
	errNotEC      = badToken("not an EC public key")
	errUnknownKID = badToken("Unknown kid")
)

// ParseKeys reads section jwt_keys: hmac:KID is base64, rsa:KID and ec:KID are PEM with \n for line
// ends (jwtf_keystore:get_from_config). Other names are ignored.
func ParseKeys(section map[string]string) Keys {
	keys := make(Keys, len(section))
	for name, encoded := range section {
		kind, _, _ := strings.Cut(name, ":")
		switch kind {
		case "hmac":
			secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
			if err != nil || len(secret) == 0 { // anybody signs with an empty one; CouchDB takes it
				keys[name] = jwtKey{refusal: errNotKey}
				continue
			}
			keys[name] = jwtKey{value: secret}
		case "rsa":
			keys[name] = publicKey[*rsa.PublicKey](encoded, errNotRSA)
		case "ec":
			keys[name] = publicKey[*ecdsa.PublicKey](encoded, errNotEC)
		}
	}
	return keys
}

// publicKey reads a PEM text as the settings hold it, with `\n` for line breaks. More than one
// block is refused, like CouchDB does. A key of another type than K is the given refusal, which is
// reported when a token asks for the key.
func publicKey[K any](encoded string, refusal *compat.Error) jwtKey {
	block, rest := pem.Decode([]byte(strings.ReplaceAll(encoded, `\n`, "\n")))
	if block == nil {
		return jwtKey{refusal: errNotKey}
	}
	if more, _ := pem.Decode(rest); more != nil {
		return jwtKey{refusal: errNotKey}
	}
	var key any
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	}
	if typed, ok := key.(K); ok && err == nil {
		return jwtKey{value: typed}
	}
	return jwtKey{refusal: refusal}
}

// find looks a token's key up by the family of its algorithm and its kid.
func (k Keys) find(algorithm, kid string) (any, error) {
	kind := "hmac:"
	switch algorithm[:2] {
	case "RS":
		kind = "rsa:"
	case "ES":
		kind = "ec:"
	}
	key, ok := k[kind+kid]
	switch {
	case !ok:
		return nil, errUnknownKID
	case key.refusal != nil:
		return nil, key.refusal
	}
	return key.value, nil
}
