package definition

import (
	"fmt"
	"net/url"
	"slices"
)

// mask is what clients see of every password and key. Where it is sent back, what is stored stays.
const mask = "*****"

// Masked is the function as clients see it: without secrets.
func (f *Function) Masked() *Function {
	g := f.Clone()
	for i := range g.Bindings.Curl {
		g.Bindings.Curl[i].Password, g.Bindings.Curl[i].BearerKey = mask, mask
	}
	return g
}

// KeepSecrets puts the secrets of stored, which may be nil, in the places of masks. A secret stays
// with the server that it was made for: who changes the host of a URL has to give it again, or else
// everybody who may change a function could have its secrets sent to himself. Where there is no
// secret to keep, as after an import, it is empty and a warning says so.
func (f *Function) KeepSecrets(stored *Function) (warnings []string, err error) {
	for i := range f.Bindings.Curl {
		c := &f.Bindings.Curl[i]
		var before CurlBinding
		if stored != nil {
			same := func(b CurlBinding) bool { return b.Value == c.Value }
			if at := slices.IndexFunc(stored.Bindings.Curl, same); at >= 0 {
				before = stored.Bindings.Curl[at]
			}
		}
		for _, s := range []struct{ now, before *string }{
			{&c.Password, &before.Password}, {&c.BearerKey, &before.BearerKey},
		} {
			if *s.now != mask {
				continue
			}
			if *s.before != "" && origin(c.Hostname) != origin(before.Hostname) {
				return nil, Errorf(CodeInvalidConfig, "URL binding %s: the host has changed, so its password or key "+
					"has to be given again", c.Value)
			}
			*s.now = *s.before
		}
		if c.needsSecret() {
			warnings = append(warnings, fmt.Sprintf("URL binding %s has no password or key", c.Value))
		}
	}
	return warnings, nil
}

// MaskUnchanged puts masks in the places of secrets where stored, of which only masks are known, has
// the same binding otherwise: what is stored stays.
func (f *Function) MaskUnchanged(stored *Function) {
	masked, before := f.Masked(), stored.Masked()
	for i, c := range masked.Bindings.Curl {
		if slices.Contains(before.Bindings.Curl, c) {
			f.Bindings.Curl[i] = c
		}
	}
}

// LacksSecret names a URL binding that logs in with nothing, or with a mask for which stored has no
// secret of the same server; "" if there is none. stored may be nil.
func (f *Function) LacksSecret(stored *Function) string {
	for i := range f.Bindings.Curl {
		c := f.Bindings.Curl[i]
		kept := stored != nil && slices.ContainsFunc(stored.Bindings.Curl, func(b CurlBinding) bool {
			return b.Value == c.Value && origin(b.Hostname) == origin(c.Hostname)
		})
		for _, secret := range []*string{&c.Password, &c.BearerKey} {
			if *secret == mask && !kept {
				*secret = ""
			}
		}
		if c.needsSecret() {
			return c.Value
		}
	}
	return ""
}

// needsSecret reports whether the binding logs in with nothing.
func (c *CurlBinding) needsSecret() bool {
	switch c.AuthType {
	case AuthBasic, AuthDigest:
		return c.Password == ""
	case AuthBearer:
		return c.BearerKey == ""
	}
	return false
}

// origin is scheme and host of a URL.
func origin(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Scheme + "://" + u.Host
}
