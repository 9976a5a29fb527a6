// Package service gets and renews the certificates of the services of a host. Each certificate has
// a key that is made on the host and never leaves it, and a directory in which key and certificate
// always match.
//
//	k := service.Keeper{Files: machine, Dir: "/etc/fettle/certificates", State: state, Request: member.Request, …}
//	err := k.Want(service.Order{Names: []string{"web3.example.org"}, Reload: "nginx.service"})
//	err = k.Get(ctx, "web3.example.org")     // once
//	k.Run(ctx, pokes)                        // renews after two thirds of the validity
//
// Dir contains
//
//	authority.pem                  the certificates of the fleet CA
//	crl.pem                        the revoked certificates of the fleet
//	NAME -> .NAME.SERIAL           symbolic link, replaced atomically by a renewal
//	NAME/key.pem                   0600
//	NAME/certificate.pem           NAME/chain.pem: its issuers; NAME/fullchain.pem: both
//
// Each order is a file in the agent's directory.
package service

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Dir is the directory of certificates on a host.
const Dir = "/etc/fettle/certificates"

// Order is the order of a certificate for a service, with its state.
type Order struct {
	// Names are the host names of the service, sorted. Name is one of them, and the name of its
	// directory.
	Name  string   `json:"name"`
	Names []string `json:"names"`
	// Reload is a systemd unit to reload or restart after a renewal.
	Reload string `json:"reload,omitempty"`
	Reason string `json:"because,omitempty"`

	Serial string `json:"serial,omitempty"` // serial number of the current certificate
	From   int64  `json:"from,omitempty"`   // validity of the current certificate, in seconds since 1970
	Until  int64  `json:"until,omitempty"`
	// RequestedAt is the time of the last request to a hub, in seconds since 1970. Wait is the
	// minimum time until the next request, in seconds.
	RequestedAt int64  `json:"asked,omitempty"`
	Wait        int64  `json:"wait,omitempty"`
	Pending     bool   `json:"held,omitempty"`   // the request waits for the approval of an operator
	Issuer      string `json:"issuer,omitempty"` // serial number of the issuer of the current certificate
	// Revoked says that the certificate in use is revoked.
	Revoked bool   `json:"forbidden,omitempty"`
	Error   string `json:"error,omitempty"`
	// Owed reports that Reload must still be done for the current certificate.
	Owed bool `json:"owed,omitempty"`
}

// The minimum time until the next request to a hub.
const (
	againHeld    = time.Hour // a hub sends a message after a decision; this is for lost messages
	againRefused = 6 * time.Hour
	againFailed  = 10 * time.Minute
	againNoHub   = lookSoon
)

var unitName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9:_.\\@-]{0,254}$`) })

// Check returns an error if the order is not valid.
func (w Order) Check() error {
	if err := pki.CheckServiceNames(w.Names); err != nil {
		return err
	}
	if !slices.Contains(w.Names, w.Name) {
		return fmt.Errorf("cannot store a certificate as %.80q: this is not one of its host names", w.Name)
	}
	if w.Reload != "" && !unitName().MatchString(w.Reload) {
		return fmt.Errorf("cannot reload %.80q: this is not a valid name of a systemd unit", w.Reload)
	}
	return nil
}

// Due reports whether the certificate must be requested: there is none, or two thirds of its
// validity are over. After the clock was set back, it is due immediately.
func (w Order) Due(now time.Time) bool {
	if s := now.Unix() - w.RequestedAt; w.RequestedAt != 0 && s >= 0 && s < w.Wait {
		return false
	}
	return w.Serial == "" || now.Unix() >= w.From+(w.Until-w.From)*2/3 || now.Unix() < w.From
}

// Keeper gets and renews the certificates of a host. Run must be called once; a different process
// can add orders at the same time.
type Keeper struct {
	Files host.FS // the file system of the host
	Dir   string
	State host.FS // the state directory of the agent
	Wants string  // directory of orders in State

	Request     func(ctx context.Context, a fleet.Request) (fleet.RequestAnswer, error)
	Lists       func(ctx context.Context) (fleet.Lists, error) // fetches the revocation lists
	Authorities func() []*x509.Certificate
	Reload      func(ctx context.Context, unit string) error
	Now         func() time.Time
	Warn        func(text string)

	updating sync.Mutex // serializes updates of the lists
}

func (k *Keeper) file(name string) string {
	return path.Join(k.Wants, strings.ReplaceAll(name, ":", "_")+".json")
}

// Orders returns all orders, by name.
func (k *Keeper) Orders() ([]Order, error) {
	names, err := k.State.ReadDir(k.Wants)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate orders of this host: %w", err)
	}
	var out []Order
	for _, n := range names {
		if !strings.HasSuffix(n, ".json") {
			continue
		}
		w, err := k.load(path.Join(k.Wants, n))
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

func (k *Keeper) load(file string) (w Order, err error) {
	text, err := smallfile.Read(k.State, file)
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	return w, err
}

func (k *Keeper) save(w Order) error {
	text, err := json.Marshal(w)
	if err == nil {
		err = smallfile.Directory(k.State, k.Wants)
	}
	if err == nil {
		err = smallfile.Write(k.State, k.file(w.Name), text)
	}
	return err
}

// Want stores an order. If an order with the same name exists, Want replaces its host names and
// unit. The certificate stays in use until a new one is issued.
func (k *Keeper) Want(w Order) error {
	if err := w.Check(); err != nil {
		return err
	}
	had, err := k.load(k.file(w.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if slices.Equal(had.Names, w.Names) {
		w.Serial, w.From, w.Until, w.Issuer, w.Revoked = had.Serial, had.From, had.Until, had.Issuer, had.Revoked
	}
	return k.save(w)
}

// Get requests the certificate of an order from a hub, and installs it. The result, or the error,
// is stored in the order.
func (k *Keeper) Get(ctx context.Context, name string) (Order, error) {
	w, err := k.load(k.file(name))
	if err != nil {
		return w, err
	}
	renewal := w.Serial != ""
	err = k.get(ctx, &w)
	w.RequestedAt, w.Error = k.Now().Unix(), ""
	switch {
	case errors.Is(err, fleet.ErrDenied):
		w.Wait, w.Pending, w.Error = int64(againRefused/time.Second), false, err.Error()
	case errors.Is(err, fleet.ErrNoHub):
		w.Wait, w.Error = int64(againNoHub/time.Second), err.Error()
	case err != nil:
		w.Wait, w.Error = int64(againFailed/time.Second), err.Error()
	case w.Pending:
		w.Wait = int64(againHeld / time.Second)
	default:
		w.Wait = int64(againFailed / time.Second)
		w.Owed = renewal && w.Reload != ""
	}
	// The order can have changed during the request.
	if now, read := k.load(k.file(name)); read != nil || !slices.Equal(now.Names, w.Names) {
		return w, errors.Join(err, read)
	}
	if err := errors.Join(err, k.save(w)); err != nil {
		return w, err
	}
	return k.reload(ctx, w)
}

// get installs a new certificate. A certificate that begins later does not replace a valid one: the
// programs that use it check its beginning.
func (k *Keeper) get(ctx context.Context, w *Order) error {
	key, err := pki.NewServiceKey()
	if err != nil {
		return err
	}
	request, err := key.Request()
	if err != nil {
		return err
	}
	answer, err := k.Request(ctx, fleet.Request{What: fleet.RequestCertificate, Reason: w.Reason, Names: w.Names,
		Signing: string(request)})
	if err != nil {
		return err
	}
	if w.Pending = answer.Answer == fleet.RequestPending; w.Pending {
		return nil
	}
	authorities := k.Authorities()
	chain, err := key.ParseChain([]byte(answer.Certificate), w.Names, authorities)
	if err != nil {
		return err
	}
	if begin := chain[0].NotBefore; w.Until > k.Now().Unix() && !w.Revoked && begin.After(k.Now()) {
		return fmt.Errorf("the new certificate begins at %s: the clock of the hub or of this host is wrong; "+
			"the present certificate stays", begin.UTC().Format(time.RFC3339))
	}
	if err := k.install(w.Name, key, chain, authorities); err != nil {
		return err
	}
	w.Revoked, w.Issuer = false, pki.SerialOf(chain[1])
	w.Serial, w.From, w.Until = pki.SerialOf(chain[0]), chain[0].NotBefore.Unix(), chain[0].NotAfter.Unix()
	return nil
}

// reload reloads the service after a renewal. Owed stays true until it succeeded.
func (k *Keeper) reload(ctx context.Context, w Order) (Order, error) {
	if !w.Owed {
		return w, nil
	}
	if err := k.Reload(ctx, w.Reload); err != nil {
		return w, fmt.Errorf("cannot reload %s after the renewal of its certificate: %w", w.Reload, err)
	}
	w.Owed = false
	return w, k.save(w)
}

// Forget removes an order, its certificate and its key.
func (k *Keeper) Forget(name string) error {
	if _, err := k.load(k.file(name)); err != nil {
		return err
	}
	if err := k.Files.Remove(path.Join(k.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(k.tidy(name, ""), smallfile.Remove(k.State, k.file(name)))
}

// look requests all certificates that are due.
func (k *Keeper) look(ctx context.Context, poked bool) {
	orders, err := k.Orders()
	if err != nil {
		k.Warn(err.Error())
	}
	for _, w := range orders {
		if ctx.Err() != nil {
			return
		}
		switch {
		case w.Owed:
			_, err = k.reload(ctx, w)
		case w.Due(k.Now()) || poked && w.Pending:
			asking, cancel := context.WithTimeout(ctx, time.Minute)
			_, err = k.Get(asking, w.Name)
			cancel()
		default:
			continue
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, fleet.ErrNoHub) {
			k.Warn(fmt.Sprintf("cannot renew the certificate of %s: %v", w.Name, err))
		}
	}
}

// lookEvery is the interval of look; lookSoon while no hub can be reached.
const (
	lookEvery = 10 * time.Minute
	lookSoon  = 20 * time.Second
)

// updateEvery is the interval at which the revocation lists are fetched. A hub can also request it.
const updateEvery = 6 * time.Hour

// Run gets and renews certificates until ctx ends. A poke starts look immediately and also requests
// pending certificates.
func (k *Keeper) Run(ctx context.Context, pokes <-chan struct{}) {
	poked, updated := false, time.Time{}
	for {
		k.look(ctx, poked)
		wait := lookEvery
		if now := k.Now(); now.Sub(updated).Abs() >= updateEvery {
			if k.updates(ctx) {
				updated = now
			} else {
				wait = lookSoon
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			poked = false
		case <-pokes:
			poked = true
		}
	}
}

// updates fetches the revocation lists and reports whether this succeeded.
func (k *Keeper) updates(ctx context.Context) bool {
	fetching, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := k.Update(fetching)
	if err != nil && ctx.Err() == nil && !errors.Is(err, fleet.ErrNoHub) {
		k.Warn("cannot fetch the revocation lists: " + err.Error())
	}
	return err == nil
}
