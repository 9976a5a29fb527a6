package gates

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// authorize adds a token to a request, and returns it. name is a file of the sender with two lines: the address that
// may get the token, and the token. So a repository cannot send the token, or another secret, to its own server. The
// errors do not contain the token.
func authorize(s Secrets, req *http.Request, name string) (token string, err error) {
	if name == "" {
		return "", nil
	}
	text, err := s.Secret(name)
	if err != nil {
		return "", err
	}
	lines := strings.Fields(text)
	if len(lines) != 2 {
		return "", fmt.Errorf("the file %s in the directory notify must have two lines: "+
			"the address that may get the token, such as https://HOST:PORT, and the token", name)
	}
	to, err := url.Parse(lines[0])
	if err != nil || to.Host == "" || to.User != nil {
		return "", fmt.Errorf("the first line of the file %s in the directory notify must be an address such as "+
			"https://HOST:PORT", name)
	}
	if origin(to) != origin(req.URL) {
		return "", fmt.Errorf("the token %s is not for %s://%s: its file names another address", name, req.URL.Scheme,
			req.URL.Host)
	}
	if req.URL.Scheme != "https" && !loopback(req.URL.Hostname()) {
		return "", errors.New("a token is sent only to https addresses and to this host")
	}
	if strings.ContainsFunc(lines[1], func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("the token in the file %s of the directory notify has characters that are not permitted", name)
	}
	req.Header.Set("Authorization", "Bearer "+lines[1])
	return lines[1], nil
}

// origin returns the scheme, host and port of an address.
func origin(u *url.URL) string {
	port := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), port))
}

// loopback reports whether a host is this host.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// hideToken removes a token from a text of another program.
func hideToken(text, token string) string {
	if token == "" {
		return text
	}
	return strings.ReplaceAll(text, token, "(token)")
}
