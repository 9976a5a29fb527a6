package e2e

// wholeKinds is a state of each kind that is undone wholly, and whose
// absence is nothing else than that, or takes long.
const wholeKinds = `
nftables "main" {
  rules = <<-EOT
    table inet kinds {
      chain input {
        type filter hook input priority filter;
        tcp dport 7 drop
      }
    }
  EOT
}
ca_certificate "internal" {
  certificate = file("ca.pem")
}
locale "nl_NL.UTF-8" {
  default = true
}
resolver "plain" {
  servers = ["192.0.2.1"]
  search  = ["example.org"]
}
resolver "local" {
  resolved = true
  servers  = ["192.0.2.53"]
}
download "/usr/local/src/shop.tar" {
  url    = "file:///root/shop.tar"
  sha256 = "SHOP"
}
archive "/opt/shop-1.2" {
  archive = download["/usr/local/src/shop.tar"].path
  strip   = 1
  owner   = "www-data"
}
reboot "upgrades" {
  delay = 1440
}
archive "/opt/module-1.0" {
  source = "files/module.tar"
  strip  = 1
}
git_checkout "/srv/shop" {
  url      = "file:///root/shop.git"
  revision = "v1"
  owner    = "www-data"
}
x509_key "/etc/ssl/private/kinds-ca.key" {
  type = "rsa"
}
x509_key "/etc/ssl/private/kinds.key" {
  group = "adm"
  mode  = "0640"
}
x509_certificate "ca" {
  path        = "/etc/ssl/kinds-ca.pem"
  key         = x509_key["/etc/ssl/private/kinds-ca.key"].path
  common_name = "kinds authority"
  authority   = true
}
x509_certificate "web" {
  path           = "/etc/ssl/kinds.pem"
  key            = x509_key["/etc/ssl/private/kinds.key"].path
  names          = ["www.example.org", "192.0.2.7"]
  ca_certificate = x509_certificate.ca.path
  ca_key         = x509_key["/etc/ssl/private/kinds-ca.key"].path
}
acl "/srv/shop" {
  entries = ["u:backup:rx"]
  after   = [git_checkout["/srv/shop"]]
}
pam_profile "slow" {
  auth = ["optional pam_faildelay.so delay=100"]
}
directory "/etc/kinds" {
  template = "templates"
  vars     = { port = 8080 }
}
json_key "log-opts.max-size" {
  path   = "/etc/kinds.json"
  value  = "10m"
  create = true
}
json_key "store.kind" {
  path  = "/root/app.json"
  value = ["a", 2]
}
yaml_key "server.tls.min" {
  path  = "/etc/app.yaml"
  value = "1.3"
}
toml_key "project.version" {
  path  = "/etc/app.toml"
  value = "2"
}
ini_key "Journal.Seal" {
  path  = "/etc/systemd/journald.conf"
  value = true
}
xml_key "fontconfig.dir" {
  path  = "/etc/app.xml"
  value = "/usr/share/fonts & more"
}
unit "apt-daily.timer" {
  masked = true
}
wait_for "ssh" {
  tcp   = "127.0.0.1:22"
  after = [pam_profile.slow]
}
`

// hostKinds is a state of each further kind that is undone wholly.
const hostKinds = `
sudoers "deploy" {
  rules = ["www-data ALL=(root) NOPASSWD: /usr/bin/id -un"]
}
sshd_config "10-hardening" {
  settings = { PermitRootLogin = "no", MaxAuthTries = "3" }
  content  = "Match User backup\n  X11Forwarding no\n"
}
sshd_config "20-banner" {
  settings = { Banner = "/etc/issue.net" }
}
known_host "git.example.org" {
  key     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+"
  aliases = ["192.0.2.7"]
}
known_host "[git.example.org]:2222" {
  key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+"
}
limits "web" {
  domain = "www-data"
  hard   = { nofile = 777 }
}
mount "/srv/my-data" {
  what    = "tmpfs"
  type    = "tmpfs"
  options = ["size=1M", "mode=0750"]
}
swap "/swap-file" {
  size    = "8M"
  running = false
}
kernel_module "loop" {
  parameters = { max_loop = 8 }
}
kernel_module "dccp" {
  blocked = true
}
capability "/usr/bin/true" {
  capabilities = "cap_net_bind_service=ep"
}
journald "size" {
  settings = { RuntimeMaxUse = "16M" }
}
ntp "lan" {
  servers = ["ntp1.example.org"]
  running = false
}
logrotate "shop" {
  paths = ["/var/log/shop/*.log"]
}
network "10-kinds" {
  interface = "kinds0"
  addresses = ["192.0.2.7/24"]
}
network "20-none" {
  interface = "none0"
  dhcp      = true
}
apt_pin "demo" {
  packages = ["jq"]
  pin      = "release *"
  priority = -1
}
apt_key "shared" {
  key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
}
unattended_upgrades "security" {
  except  = ["linux-.*"]
  package = false
}
socket "echo" {
  listen_on = ["127.0.0.1:7777"]
  command   = "/usr/bin/cat"
  accept    = true
}
container "redis" {
  image   = "docker.io/library/redis:7"
  package = false
}
`

// otherKinds is what leaves something behind, and their descriptions say so.
const otherKinds = `
tmpfiles "shop" {
  lines = ["d /run/shop 0750 root adm -"]
}
sysusers "shop" {
  lines = ["u kindshop - \"The shop\" /run/shop"]
}
alternative "pager" {
  path = "/bin/more"
}
debconf "kinds/answer" {
  package  = "tzdata"
  value    = "Internet Site"
  previous = "None"
}
`

// goneKinds asks for the absence of what there was.
const goneKinds = `
sudoers "deploy" { ensure = "absent" }
sshd_config "10-hardening" { ensure = "absent" }
known_host "git.example.org" {
  key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+"
  ensure = "absent"
}
limits "web" { ensure = "absent" }
mount "/srv/my-data" { ensure = "absent" }
swap "/swap-file" { ensure = "absent" }
kernel_module "loop" { ensure = "absent" }
journald "size" { ensure = "absent" }
ntp "lan" {
  running = false
  ensure  = "absent"
}
logrotate "shop" { ensure = "absent" }
network "10-kinds" { ensure = "absent" }
apt_pin "demo" { ensure = "absent" }
apt_key "shared" { ensure = "absent" }
unattended_upgrades "security" { ensure = "absent" }
socket "echo" {
  ensure = "absent"
  accept = true
}
container "redis" { ensure = "absent" }
tmpfiles "shop" { ensure = "absent" }
sysusers "shop" { ensure = "absent" }
x509_certificate "/etc/ssl/kinds.pem" { ensure = "absent" }
x509_key "/etc/ssl/private/kinds.key" { ensure = "absent" }
alternative "pager" { ensure = "absent" }
`

// quadlet stands for podman's generator, which Debian 12 does not have. As most containers,
// what it runs ends with an exit code of its own when it is stopped.
const quadlet = `#!/bin/sh
for f in /etc/containers/systemd/*.container; do
  test -e "$f" || exit 0
  cat >"$1/$(basename "$f" .container).service" <<'EOF'
[Service]
ExecStart=/bin/sh -c 'trap "exit 143" TERM; while :; do sleep 1; done'
EOF
done
`
