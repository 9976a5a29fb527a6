package apt

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/debver"
	"fettle.dev/fettle/internal/host"
)

// aptLists is where apt keeps the package lists that it fetched.
const aptLists = "/var/lib/apt/lists"

// Offers implements host.Packages. It calls apt three times for any number of packages: for the
// versions, for additional changes, and for the sizes.
func (p *packages) Offers(ctx context.Context, changes []host.PackageChange) (host.PackageOffers, error) {
	o := host.PackageOffers{By: map[string]host.PackageOffer{}, Download: -1}
	if err := checkNames(changes); err != nil || len(changes) == 0 {
		return o, err
	}
	inv, err := p.inventory(ctx)
	if err != nil {
		return o, err
	}
	o.NoLists = !p.hasLists()
	known, err := p.policies(ctx, changes)
	if err != nil {
		return o, err
	}
	unknown := false
	for _, c := range changes {
		offer := known[inv.key(c.Name)].offer(c)
		if c.Version != "" && p.findDeb(p.Debs, inv.arch, c.Name, c.Version) != "" {
			offer.Unknown = ""
		}
		if offer.Unknown != "" && !o.NoLists {
			offer.Unknown += p.instead(ctx, c, known[inv.key(c.Name)])
		}
		unknown = unknown || offer.Unknown != ""
		o.By[c.Name] = offer
	}
	if unknown {
		return o, nil
	}
	return p.together(ctx, inv, changes, o), nil
}

// together adds the additional changes and the size of the download.
func (p *packages) together(ctx context.Context, inv inventory, changes []host.PackageChange,
	o host.PackageOffers) host.PackageOffers {
	_, out, err := p.simulate(ctx, changes, nil)
	if err != nil {
		o.Failure = err.Error()
		return o
	}
	o.Additional, o.Removes = comeAndLeave(inv, out, changes)
	argv := append(p.aptGet(inv, changes), "--print-uris", "-qq")
	r, err := p.h.Run(ctx, host.Command{Argv: append(argv, p.words(inv, changes)...), Env: aptEnv(), Timeout: time.Minute})
	if err == nil && r.ExitCode == 0 {
		o.Download = downloadSize(string(r.Stdout))
	}
	return o
}

// downloadSize adds up lines such as 'http://…/nginx_1.deb' nginx_1.deb 12345 SHA256:….
func downloadSize(out string) int64 {
	var sum int64
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(f[0], "'") {
			continue
		}
		if n, err := strconv.ParseInt(f[2], 10, 64); err == nil {
			sum += n
		}
	}
	return sum
}

// policy is the output of apt-cache policy for one package.
type policy struct {
	candidate string
	versions  []string
}

func (p policy) offer(c host.PackageChange) host.PackageOffer {
	switch {
	case p.candidate == "":
		return host.PackageOffer{Unknown: fmt.Sprintf("apt knows no package %q", c.Name)}
	case c.Version == "":
		return host.PackageOffer{Version: p.candidate}
	case slices.Contains(p.versions, c.Version):
		return host.PackageOffer{Version: c.Version}
	}
	return host.PackageOffer{Version: c.Version, Unknown: fmt.Sprintf("apt knows no version %s of package %q", c.Version,
		c.Name)}
}

// policies queries all packages at once. Packages unknown to apt are missing from the result.
func (p *packages) policies(ctx context.Context, changes []host.PackageChange) (map[string]policy, error) {
	argv := []string{"apt-cache", "policy"}
	for _, c := range changes {
		argv = append(argv, c.Name)
	}
	r, err := p.h.Run(ctx, host.Command{Argv: argv, Timeout: time.Minute})
	if err == nil && r.ExitCode != 0 {
		err = fmt.Errorf("%s", lastOf(string(r.Stderr), string(r.Stdout)))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask apt for versions: %w", err)
	}
	return parsePolicies(string(r.Stdout)), nil
}

func parsePolicies(out string) map[string]policy {
	all, name := map[string]policy{}, ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		f := strings.Fields(line)
		one := all[name]
		switch {
		case !strings.HasPrefix(line, " "):
			name = strings.TrimSuffix(line, ":")
			continue
		case len(f) == 2 && f[0] == "Candidate:" && f[1] != "(none)":
			one.candidate = f[1]
		case strings.HasPrefix(line, "     ") && !strings.HasPrefix(line, "      ") && len(f) == 2:
			one.versions = append(one.versions, f[0])
		case strings.HasPrefix(line, " *** ") && len(f) == 3:
			one.versions = append(one.versions, f[1])
		}
		all[name] = one
	}
	return all
}

// instead lists the available name or versions.
func (p *packages) instead(ctx context.Context, c host.PackageChange, known policy) string {
	if known.candidate == "" {
		return ". " + p.unknownPackage(ctx, c.Name)
	}
	slices.SortFunc(known.versions, func(a, b string) int { return debver.Compare(b, a) })
	return ". " + knownVersions(known.versions)
}

// hasLists reports whether apt has package lists.
func (p *packages) hasLists() bool {
	names, err := p.h.ReadDir(aptLists)
	return err == nil && slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "_Packages") })
}
