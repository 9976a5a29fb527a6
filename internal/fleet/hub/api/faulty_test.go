package api_test

import (
	"context"
	"errors"
	"io"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/view"
)

var errFault = errors.New("the disk of the hub is broken")

// faulty is a backend in which one call fails, the at-th from 1 on.
type faulty struct {
	apitest.Backend
	at    int
	calls *int
}

func (f faulty) fail() error {
	if *f.calls++; *f.calls == f.at {
		return errFault
	}
	return nil
}

// or returns the values of a backend, unless this call fails.
func or[T any](f faulty, call func() (T, error)) (T, error) {
	if err := f.fail(); err != nil {
		var none T
		return none, err
	}
	return call()
}

func (f faulty) Targets(ctx context.Context, q view.TargetQuery) (document.TargetPage, error) {
	return or(f, func() (document.TargetPage, error) { return f.Backend.Targets(ctx, q) })
}

func (f faulty) Target(ctx context.Context, name string, now time.Time) (document.TargetDetail, error) {
	return or(f, func() (document.TargetDetail, error) { return f.Backend.Target(ctx, name, now) })
}

func (f faulty) Modules(ctx context.Context, now time.Time) (document.ModulePage, error) {
	return or(f, func() (document.ModulePage, error) { return f.Backend.Modules(ctx, now) })
}

func (f faulty) Module(ctx context.Context, q view.ModuleQuery) (document.ModuleDetail, error) {
	return or(f, func() (document.ModuleDetail, error) { return f.Backend.Module(ctx, q) })
}

func (f faulty) Events(ctx context.Context, q view.EventQuery) (document.EventPage, error) {
	return or(f, func() (document.EventPage, error) { return f.Backend.Events(ctx, q) })
}

func (f faulty) Status(ctx context.Context, now time.Time) (document.Status, error) {
	return or(f, func() (document.Status, error) { return f.Backend.Status(ctx, now) })
}

func (f faulty) CreateToken(ctx context.Context, by access.Principal,
	r document.TokenRequest) (document.NewToken, error) {
	return or(f, func() (document.NewToken, error) { return f.Backend.CreateToken(ctx, by, r) })
}

func (f faulty) Tokens(ctx context.Context) ([]document.Token, error) {
	return or(f, func() ([]document.Token, error) { return f.Backend.Tokens(ctx) })
}

func (f faulty) RevokeToken(ctx context.Context, by access.Principal, id string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.RevokeToken(ctx, by, id)
}

func (f faulty) Hubs(ctx context.Context) (document.HubPage, error) {
	return or(f, func() (document.HubPage, error) { return f.Backend.Hubs(ctx) })
}

func (f faulty) RetireHub(ctx context.Context, by access.Principal, name string, r document.HubRetirement) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.RetireHub(ctx, by, name, r)
}

func (f faulty) AuditLog(ctx context.Context, offset int64, limit int) (document.AuditPage, error) {
	return or(f, func() (document.AuditPage, error) { return f.Backend.AuditLog(ctx, offset, limit) })
}

func (f faulty) Users(ctx context.Context) ([]document.User, error) {
	return or(f, func() ([]document.User, error) { return f.Backend.Users(ctx) })
}

func (f faulty) SetUser(ctx context.Context, by access.Principal, r document.UserRequest) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.SetUser(ctx, by, r)
}

func (f faulty) CreateLogin(ctx context.Context, by access.Principal, name string,
	r document.LoginRequest) (document.NewLogin, error) {
	return or(f, func() (document.NewLogin, error) { return f.Backend.CreateLogin(ctx, by, name, r) })
}

func (f faulty) CreateWebLogin(ctx context.Context, by access.Principal,
	r document.WebLoginRequest) (document.WebLogin, error) {
	return or(f, func() (document.WebLogin, error) { return f.Backend.CreateWebLogin(ctx, by, r) })
}

func (f faulty) Logins(ctx context.Context, name string) ([]document.Login, error) {
	return or(f, func() ([]document.Login, error) { return f.Backend.Logins(ctx, name) })
}

func (f faulty) RevokeLogin(ctx context.Context, by access.Principal, name, login string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.RevokeLogin(ctx, by, name, login)
}

func (f faulty) Approve(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Approve(ctx, by, id)
}

func (f faulty) Retire(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Retire(ctx, by, id, reason)
}

func (f faulty) Revoke(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Revoke(ctx, by, id, reason)
}

func (f faulty) SetLabels(ctx context.Context, by access.Principal, id fleet.TargetID, r document.LabelRequest) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.SetLabels(ctx, by, id, r)
}

func (f faulty) Pin(ctx context.Context, by access.Principal, id fleet.TargetID, p fleet.Pin) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Pin(ctx, by, id, p)
}

func (f faulty) Unpin(ctx context.Context, by access.Principal, id fleet.TargetID, module string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Unpin(ctx, by, id, module)
}

func (f faulty) Freeze(ctx context.Context, by access.Principal, id fleet.TargetID, r document.FreezeRequest) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Freeze(ctx, by, id, r)
}

func (f faulty) Unfreeze(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Unfreeze(ctx, by, id)
}

func (f faulty) FreezeAll(ctx context.Context, by access.Principal, r document.FreezeRequest) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.FreezeAll(ctx, by, r)
}

func (f faulty) UnfreezeAll(ctx context.Context, by access.Principal) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.UnfreezeAll(ctx, by)
}

func (f faulty) FrozenAll(ctx context.Context) (*document.FleetFreeze, error) {
	return or(f, func() (*document.FleetFreeze, error) { return f.Backend.FrozenAll(ctx) })
}

func (f faulty) Suspect(ctx context.Context, by access.Principal, id fleet.TargetID, because string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Suspect(ctx, by, id, because)
}

func (f faulty) Trust(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.Trust(ctx, by, id, reason)
}

func (f faulty) Requests(ctx context.Context) ([]document.Request, error) {
	return or(f, func() ([]document.Request, error) { return f.Backend.Requests(ctx) })
}

func (f faulty) DecideRequest(ctx context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind,
	name string, refuse bool, reason string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.DecideRequest(ctx, by, id, what, name, refuse, reason)
}

func (f faulty) Certificates(ctx context.Context) (document.CertificatePage, error) {
	return or(f, func() (document.CertificatePage, error) { return f.Backend.Certificates(ctx) })
}

func (f faulty) RevokeCertificates(ctx context.Context, by access.Principal,
	r document.CertificateRevocation) (document.Job, error) {
	return or(f, func() (document.Job, error) { return f.Backend.RevokeCertificates(ctx, by, r) })
}

func (f faulty) RequestPolicy(ctx context.Context) (fleet.RequestPolicy, error) {
	return or(f, func() (fleet.RequestPolicy, error) { return f.Backend.RequestPolicy(ctx) })
}

func (f faulty) SetRequestPolicy(ctx context.Context, by access.Principal, r document.RequestPolicyChange) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.SetRequestPolicy(ctx, by, r)
}

func (f faulty) SaveState(ctx context.Context, by access.Principal) (document.HubState, error) {
	return or(f, func() (document.HubState, error) { return f.Backend.SaveState(ctx, by) })
}

func (f faulty) BackupSaved(ctx context.Context, by access.Principal, at int64) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.BackupSaved(ctx, by, at)
}

func (f faulty) ApproveAlarm(ctx context.Context, by access.Principal, digest string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.ApproveAlarm(ctx, by, digest)
}

func (f faulty) Notifications(ctx context.Context) ([]document.NotificationState, error) {
	return or(f, func() ([]document.NotificationState, error) { return f.Backend.Notifications(ctx) })
}

func (f faulty) SetNotification(ctx context.Context, by access.Principal, r document.Notification) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.SetNotification(ctx, by, r)
}

func (f faulty) RemoveNotification(ctx context.Context, by access.Principal, name string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.RemoveNotification(ctx, by, name)
}

func (f faulty) TestNotification(ctx context.Context, by access.Principal, name string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.TestNotification(ctx, by, name)
}

func (f faulty) DecideNotice(ctx context.Context, by access.Principal, id string, reject bool) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.DecideNotice(ctx, by, id, reject)
}

func (f faulty) Binaries(ctx context.Context) ([]document.BinarySetting, error) {
	return or(f, func() ([]document.BinarySetting, error) { return f.Backend.Binaries(ctx) })
}

func (f faulty) SetBinary(ctx context.Context, by access.Principal, r document.BinaryRequest,
	targets []fleet.TargetID) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.SetBinary(ctx, by, r, targets)
}

func (f faulty) CreateJob(ctx context.Context, by access.Principal, r document.JobRequest,
	targets []fleet.TargetID) (document.Job, error) {
	return or(f, func() (document.Job, error) { return f.Backend.CreateJob(ctx, by, r, targets) })
}

func (f faulty) Job(ctx context.Context, id string) (document.Job, error) {
	return or(f, func() (document.Job, error) { return f.Backend.Job(ctx, id) })
}

func (f faulty) CancelJob(ctx context.Context, by access.Principal, id string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Backend.CancelJob(ctx, by, id)
}

func (f faulty) Jobs(ctx context.Context, offset, limit int) (document.JobPage, error) {
	return or(f, func() (document.JobPage, error) { return f.Backend.Jobs(ctx, offset, limit) })
}

func (f faulty) OpenExecutor(ctx context.Context, by access.Principal, id fleet.TargetID,
	changes bool) (io.ReadWriteCloser, error) {
	return or(f, func() (io.ReadWriteCloser, error) { return f.Backend.OpenExecutor(ctx, by, id, changes) })
}

func (f faulty) Repositories(ctx context.Context) ([]document.Repository, error) {
	return or(f, func() ([]document.Repository, error) { return f.Backend.Repositories(ctx) })
}

func (f faulty) Exports(ctx context.Context) (document.Exports, error) {
	return or(f, func() (document.Exports, error) { return f.Backend.Exports(ctx) })
}

func (f faulty) Because(ctx context.Context, id fleet.TargetID, module string) ([]string, error) {
	return or(f, func() ([]string, error) { return f.Backend.Because(ctx, id, module) })
}

func (f faulty) Alarms(ctx context.Context) ([]document.Alarm, error) {
	return or(f, func() ([]document.Alarm, error) { return f.Backend.Alarms(ctx) })
}
