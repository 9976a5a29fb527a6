// Package service gets and keeps the certificates of a machine's services: each has a key that is
// made here and never leaves, and one directory in which key and certificate always fit.
//
//	k := service.Keeper{Files: machine, Dir: "/etc/fettle/certificates", State: state, Request: member.Request, …}
//	err := k.Want(service.Order{Names: []string{"web3.example.org"}, Reload: "nginx.service"})
//	err = k.Get(ctx, "web3.example.org")     // once
//	k.Run(ctx, pokes)                        // renews at two thirds of the life
//
// In Dir there is
//
//	authority.pem                  what vouches for all of them
//	crl.pem                        which of all the fleet are forbidden
//	NAME -> .NAME.SERIAL           replaced at once by a renewal
//	NAME/key.pem                   0600
//	NAME/certificate.pem           NAME/chain.pem: who made it; NAME/fullchain.pem: both
//
// What is wanted is a file of each in the agent's directory.
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

// Dir is where certificates lie below the root of a machine.
const Dir = "/etc/fettle/certificates"

// Order is a certificate that a machine wants, and how far that got.
type Order struct {
	// Names are those of the service, sorted; Name is one of them, under which it lies.
	Name  string   `json:"name"`
	Names []string `json:"names"`
	// Reload is a unit of systemd that is reloaded, or restarted, after a renewal.
	Reload string `json:"reload,omitempty"`
	Reason string `json:"because,omitempty"`

	Serial string `json:"serial,omitempty"` // of the one in use
	From   int64  `json:"from,omitempty"`   // its life, in seconds since 1970
	Until  int64  `json:"until,omitempty"`
	// RequestedAt is when a hub was asked last, in seconds since 1970, and Wait for how many
	// seconds it is not asked again.
	RequestedAt int64  `json:"asked,omitempty"`
	Wait        int64  `json:"wait,omitempty"`
	Pending     bool   `json:"held,omitempty"`   // somebody has to approve it
	Issuer      string `json:"issuer,omitempty"` // serial of what made the one in use
	// Revoked says that the certificate in use is revoked.
	Revoked bool   `json:"forbidden,omitempty"`
	Error   string `json:"error,omitempty"`
	// Owed says that Reload was not done yet for the one in use.
	Owed bool `json:"owed,omitempty"`
}

// How long a hub is not asked again.
const (
	againHeld    = time.Hour // it tells when it was decided; this is for what was not heard
	againRefused = 6 * time.Hour
	againFailed  = 10 * time.Minute
	againNoHub   = lookSoon
)

var unitName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9:_.\\@-]{0,254}$`) })

// Check says what is wrong with a wish.
func (w Order) Check() error {
	if err := pki.CheckServiceNames(w.Names); err != nil {
		return err
	}
	if !slices.Contains(w.Names, w.Name) {
		return fmt.Errorf("cannot keep a certificate as %.80q: that is not one of its names", w.Name)
	}
	if w.Reload != "" && !unitName().MatchString(w.Reload) {
		return fmt.Errorf("cannot reload %.80q: that is no name of a unit", w.Reload)
	}
	return nil
}

// Due tells whether a hub is to be asked: there is none, or two thirds of its life are over.
// A clock that was set back asks at once.
func (w Order) Due(now time.Time) bool {
	if s := now.Unix() - w.RequestedAt; w.RequestedAt != 0 && s >= 0 && s < w.Wait {
		return false
	}
	return w.Serial == "" || now.Unix() >= w.From+(w.Until-w.From)*2/3 || now.Unix() < w.From
}

// Keeper keeps the certificates of a machine. Run is called once; beside it another process may
// ask for more.
type Keeper struct {
	Files host.FS // of the machine, from its root
	Dir   string
	State host.FS // the agent's
	Wants string  // the directory of wishes there

	Request     func(ctx context.Context, a fleet.Request) (fleet.RequestAnswer, error)
	Lists       func(ctx context.Context) (fleet.Lists, error) // of forbidden certificates
	Authorities func() []*x509.Certificate
	Reload      func(ctx context.Context, unit string) error
	Now         func() time.Time
	Warn        func(text string)

	updating sync.Mutex // of the lists
}

func (k *Keeper) file(name string) string {
	return path.Join(k.Wants, strings.ReplaceAll(name, ":", "_")+".json")
}

// Orders are all of them, by name.
func (k *Keeper) Orders() ([]Order, error) {
	names, err := k.State.ReadDir(k.Wants)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read which certificates are wanted: %w", err)
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

// Want keeps a wish. One of the same name has its names and unit replaced; what it has stays
// until there is another.
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

// Get asks a hub for a certificate that is wanted, and puts it where it belongs. What came of
// it stands in the wish, an error too.
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
	// Somebody may have wished for something else meanwhile.
	if now, read := k.load(k.file(name)); read != nil || !slices.Equal(now.Names, w.Names) {
		return w, errors.Join(err, read)
	}
	if err := errors.Join(err, k.save(w)); err != nil {
		return w, err
	}
	return k.reload(ctx, w)
}

func (k *Keeper) get(ctx context.Context, w *Order) error {
	key, err := pki.NewServiceKey()
	if err != nil {
		return err
	}
	request, err := key.Request()
	if err != nil {
		return err
	}
	answer, err := k.Request(ctx, fleet.Request{What: fleet.RequestCertificate, Reason: w.Reason, Names: w.Names, Signing: string(request)})
	if err != nil {
		return err
	}
	if w.Pending = answer.Answer == fleet.RequestPending; w.Pending {
		return nil
	}
	authorities := k.Authorities()
	chain, err := key.Take([]byte(answer.Certificate), w.Names, authorities)
	if err != nil {
		return err
	}
	if err := k.install(w.Name, key, chain, authorities); err != nil {
		return err
	}
	w.Revoked, w.Issuer = false, pki.SerialOf(chain[1])
	w.Serial, w.From, w.Until = pki.SerialOf(chain[0]), chain[0].NotBefore.Unix(), chain[0].NotAfter.Unix()
	return nil
}

// reload has a service read what was renewed; it is owed until it was done.
func (k *Keeper) reload(ctx context.Context, w Order) (Order, error) {
	if !w.Owed {
		return w, nil
	}
	if err := k.Reload(ctx, w.Reload); err != nil {
		return w, fmt.Errorf("cannot have %s read its new certificate: %w", w.Reload, err)
	}
	w.Owed = false
	return w, k.save(w)
}

// Forget removes a certificate with its key, and asks for it no more.
func (k *Keeper) Forget(name string) error {
	if _, err := k.load(k.file(name)); err != nil {
		return err
	}
	if err := k.Files.Remove(path.Join(k.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(k.tidy(name, ""), smallfile.Remove(k.State, k.file(name)))
}

// look asks for all that is due.
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
			k.Warn(fmt.Sprintf("cannot keep the certificate of %s: %v", w.Name, err))
		}
	}
}

// lookEvery is how often is looked what is due, and lookSoon while no hub could be asked.
const (
	lookEvery = 10 * time.Minute
	lookSoon  = 20 * time.Second
)

// updateEvery is how often the lists are fetched, besides when a hub says so.
const updateEvery = 6 * time.Hour

// Run keeps all until ctx ends. A poke looks at once, and asks for what is held.
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

// updates tells whether the lists are as new as a hub's.
func (k *Keeper) updates(ctx context.Context) bool {
	fetching, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := k.Update(fetching)
	if err != nil && ctx.Err() == nil && !errors.Is(err, fleet.ErrNoHub) {
		k.Warn("cannot get which certificates are forbidden: " + err.Error())
	}
	return err == nil
}
