package debug

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// TicketTime is how long a ticket is valid.
const TicketTime = 5 * time.Minute

// maxTickets bounds the tickets of a session that were used and would still be valid.
const maxTickets = 1000

// NewTicket makes an address by which a client that cannot log in, such as DevTools, connects to the
// session whose secret this is: once, and within TicketTime. Nothing is stored, so that any process
// makes one.
func NewTicket(secret string, now time.Time) string {
	ticket := strconv.FormatInt(now.Add(TicketTime).UnixMilli(), 36) + "." + rand.Text()
	return ticket + "." + sign(secret, ticket)
}

// Valid reports whether a ticket was made with a secret and its time is not over.
func Valid(secret, ticket string, now time.Time) bool {
	end := max(strings.LastIndexByte(ticket, '.'), 0)
	signed := hmac.Equal([]byte(ticket[end:]), []byte("."+sign(secret, ticket[:end])))
	return signed && now.UnixMilli() < expires(ticket)
}

// expires is when a ticket is valid no longer, in milliseconds since 1970.
func expires(ticket string) int64 {
	text, _, _ := strings.Cut(ticket, ".")
	ms, _ := strconv.ParseInt(text, 36, 64)
	return ms
}

func sign(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// Redeem uses a ticket up. It is false for one that is not valid, or was used.
func (s *Session) Redeem(ticket string, now time.Time) bool {
	if !Valid(s.Secret, ticket, now) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for used := range s.used {
		if expires(used) <= now.UnixMilli() {
			delete(s.used, used)
		}
	}
	if s.used[ticket] || len(s.used) >= maxTickets {
		return false
	}
	if s.used == nil {
		s.used = map[string]bool{}
	}
	s.used[ticket] = true
	return true
}
