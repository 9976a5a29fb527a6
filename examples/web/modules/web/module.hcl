# nginx with one site.
variable "domain" { type = string }
variable "tls" {
  type    = bool
  default = false
}

package "nginx" {}

group "web" {
  system = true
}
user "deploy" {
  system = true
  group  = "web"
  home   = "/srv/www"
  shell  = "/usr/sbin/nologin"
}

directory "/srv/www" {
  owner = "deploy"
  group = "web"
}
directory "/srv/www/site" {
  owner  = "deploy"
  group  = "web"
  source = "files/site" # a tree: one step an entry
  purge  = true         # what nobody declared goes
}

# In two steps: the site where all sites are, and a link that switches it on.
# nginx -t looks at both, and reload runs once, after the last of them.
file "site-conf" {
  path     = "/etc/nginx/sites-available/${var.domain}.conf"
  template = "templates/site.conf.tmpl"
  vars     = { domain = var.domain, tls = var.tls }
  validate = "nginx -t"
  notify   = [service.nginx.reload]
}
link "site-on" {
  path   = "/etc/nginx/sites-enabled/${var.domain}.conf"
  target = file.site-conf.path
  notify = [service.nginx.reload]
}
link "default-off" {
  path   = "/etc/nginx/sites-enabled/default"
  ensure = "absent"
  after  = [package.nginx]
  before = [link.site-on]
  notify = [service.nginx.reload]
}

service "nginx" {
  enabled = true
  running = true
  after   = [package.nginx]
}

check "answers" { # after every run; failing it can roll the run back
  http     = "http://127.0.0.1/"
  status   = 200
  contains = "It works"
  within   = "10s"
}
