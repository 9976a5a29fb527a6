package query

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"fettle.dev/fettle/internal/lang/syntax"
)

// SSH has the ssh settings of a target: arguments of OpenSSH in addition to its own configuration.
// OpenSSH's configuration decides all other settings.
type SSH struct {
	Host    string            // name, address, or a Host of ssh's own configuration; never ""
	User    string            // "" leaves it to ssh
	Port    int               // 0 leaves it to ssh
	Sudo    bool              // fettle runs there through sudo
	Options map[string]string // of ssh, by name, each for -o NAME=VALUE; nil without any
}

// Valid reports whether every part is safe as an argument of ssh. No part is read as an option,
// passes through a shell, runs a local program or weakens the check of host keys. Values from the
// language are always valid.
func (s SSH) Valid() error {
	errs := []error{checkSSHHost(s.Host)}
	if s.User != "" {
		errs = append(errs, checkSSHUser(s.User))
	}
	if s.Port != 0 {
		errs = append(errs, checkSSHPort(int64(s.Port)))
	}
	for _, name := range syntax.SortedNames(s.Options) {
		errs = append(errs, checkSSHOption(name, s.Options[name]))
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("cannot be reached by ssh: %w", err)
		}
	}
	return nil
}

// shellMarks are characters that ssh itself refuses in a host and a user, because they can be part
// of a command line of its ProxyCommand.
const shellMarks = "'\"`$\\;&<>|(){}*?!#~"

func checkSSHHost(host string) error {
	switch {
	case host == "":
		return errors.New("the host is empty; if the host has the name of the target, remove the attribute")
	case strings.Contains(host, "@"):
		return fmt.Errorf("the host %q contains a user name; set user = %q instead", host, host[:strings.Index(host, "@")])
	case strings.Count(host, ":") == 1:
		return fmt.Errorf("the host %q contains a port; set port instead", host)
	case strings.Contains(host, ":") && !isAddress(host):
		return fmt.Errorf("the host %q is neither a name nor an address", host)
	}
	return plainWord("host", host, shellMarks+"/,[]=")
}

// isAddress reports whether a text is an IPv6 address, with a zone or without.
func isAddress(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Is6()
}

func checkSSHUser(user string) error {
	if user == "" {
		return errors.New("the user is empty; to use the setting of ssh, remove the attribute")
	}
	return plainWord("user", user, shellMarks+"/,:")
}

// plainWord checks that a text is one word that no program can misinterpret.
func plainWord(what, word, without string) error {
	switch {
	case strings.HasPrefix(word, "-"):
		return fmt.Errorf("the %s %q begins with -, so ssh would read it as an option", what, word)
	case len(word) > 255:
		return fmt.Errorf("the %s has more than 255 bytes", what)
	}
	for _, r := range word {
		if r == unicode.ReplacementChar || unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(without, r) {
			return fmt.Errorf("the %s %q contains the character %q, which is not allowed", what, word, r)
		}
	}
	return nil
}

func checkSSHPort(port int64) error {
	if port < 1 || port > 65535 {
		return errors.New("the port must be a whole number from 1 to 65535")
	}
	return nil
}

// sshOptions are the options of ssh_config(5) that a repository can set. Other options are reserved
// for the user who runs ssh: a repository must not run programs on a workstation, hand out its
// keys, or decide which hosts it trusts.
var sshOptions = [...]string{
	"AddressFamily", "BindAddress", "BindInterface", "CanonicalDomains", "CanonicalizeFallbackLocal",
	"CanonicalizeHostname",
	"CanonicalizeMaxDots", "CanonicalizePermittedCNAMEs", "CASignatureAlgorithms", "CertificateFile", "Ciphers",
	"Compression",
	"ConnectionAttempts", "ConnectTimeout", "GSSAPIAuthentication", "HostbasedAuthentication", "HostKeyAlgorithms",
	"HostKeyAlias", "IdentitiesOnly",
	"IdentityAgent", "IdentityFile", "IPQoS", "KexAlgorithms", "MACs", "PreferredAuthentications", "ProxyJump",
	"PubkeyAcceptedAlgorithms",
	"PubkeyAuthentication", "RekeyLimit", "RequiredRSASize", "ServerAliveCountMax", "ServerAliveInterval", "Tag",
	"TCPKeepAlive",
}

// sshRefused are common options that are not allowed, with the reason.
var sshRefused = [...]struct{ why, names string }{
	{"use the attribute host, user or port instead", "HostName User Port"},
	{"it decides which host keys are trusted, and only the user who connects may decide this",
		"StrictHostKeyChecking UserKnownHostsFile GlobalKnownHostsFile KnownHostsCommand " +
			"CheckHostIP VerifyHostKeyDNS UpdateHostKeys NoHostAuthenticationForLocalhost RevokedHostKeys HashKnownHosts"},
	{"fettle sets it for its own connection",
		"BatchMode ControlMaster ControlPath ControlPersist LogLevel LogVerbose SyslogFacility PasswordAuthentication " +
			"KbdInteractiveAuthentication ChallengeResponseAuthentication NumberOfPasswordPrompts ExitOnForwardFailure ClearAllForwardings"},
	{"it would break fettle's protocol on the connection",
		"RemoteCommand RequestTTY SessionType StdinNull ForkAfterAuthentication EscapeChar Subsystem"},
	{"it would run a program on your workstation, which a repository must not do",
		"LocalCommand PermitLocalCommand ProxyCommand ProxyUseFdpass XAuthLocation PKCS11Provider SecurityKeyProvider SmartcardDevice"},
	{"it would give the target access to your workstation, its keys or its environment",
		"ForwardAgent ForwardX11 ForwardX11Trusted ForwardX11Timeout GSSAPIDelegateCredentials AddKeysToAgent " +
			"LocalForward RemoteForward DynamicForward GatewayPorts PermitRemoteOpen StreamLocalBindMask StreamLocalBindUnlink Tunnel TunnelDevice SendEnv SetEnv"},
	{"it is a section or directive of ssh_config, not an option of a connection", "Host Match Include IgnoreUnknown"},
}

// checkSSHOption checks one option. Its name is case-insensitive.
func checkSSHOption(name, value string) error {
	same := func(known string) bool { return strings.EqualFold(known, name) }
	if !slices.ContainsFunc(sshOptions[:], same) {
		for _, r := range sshRefused {
			if slices.ContainsFunc(strings.Fields(r.names), same) {
				return fmt.Errorf("the option %s is not allowed here: %s", name, r.why)
			}
		}
		return fmt.Errorf(
			"the option %q is not one of the options that fettle allows here; "+
				"set other options in your ssh_config.%s", name, syntax.Suggest(name, sshOptions[:]))
	}
	for _, r := range value {
		if r == unicode.ReplacementChar || unicode.IsControl(r) {
			return fmt.Errorf("the value of the option %s contains a control character or invalid UTF-8", name)
		}
	}
	switch {
	case strings.TrimSpace(value) == "":
		return fmt.Errorf("the option %s has no value", name)
	case len(value) > 4096:
		return fmt.Errorf("the value of the option %s has more than 4096 bytes", name)
	case same("ProxyJump"):
		return checkJumps(value)
	}
	return nil
}

// checkJumps checks a value that ssh uses in a command line.
func checkJumps(value string) error {
	for _, hop := range strings.Split(value, ",") {
		word := strings.TrimPrefix(hop, "ssh://")
		if word == "" {
			return errors.New("the option ProxyJump has an empty host")
		}
		if err := plainWord("jump host", word, shellMarks+"/"); err != nil {
			return err
		}
	}
	return nil
}
