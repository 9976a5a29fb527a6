# One site with TLS. The key is created on the host and never leaves it.
variable "domain" { type = string }

locals {
  tls = "/etc/nginx/tls"
}

package "nginx" {}

# Debian's example site would answer instead.
link "/etc/nginx/sites-enabled/default" {
  ensure = "absent"
  after  = [package.nginx]
  before = [file.site]
}

directory "tls" {
  path  = local.tls
  mode  = "0750"
  after = [package.nginx]
}

x509_key "site" {
  path  = "${local.tls}/${var.domain}.key"
  after = [directory.tls]
}

# Self-signed: browsers warn. Set ca_key and ca_certificate to let your own CA sign it.
x509_certificate "site" {
  path   = "${local.tls}/${var.domain}.crt"
  key    = x509_key.site.path
  names  = [var.domain]
  notify = [service.nginx.reload]
}

directory "/srv/www" {}

file "index" {
  path    = "/srv/www/index.html"
  content = "<h1>${var.domain}</h1>\n"
}

file "site" {
  path     = "/etc/nginx/conf.d/${var.domain}.conf"
  template = "templates/site.conf.tmpl"
  vars = {
    domain      = var.domain
    certificate = x509_certificate.site.path
    key         = x509_key.site.path
  }
  validate = "nginx -t" # if nginx refuses it, the old file returns
  notify   = [service.nginx.reload]
}

service "nginx" {
  enabled = true
  running = true
}

check "https" {
  tcp = "127.0.0.1:443"
}

check "redirect" {
  http   = "http://127.0.0.1/"
  status = 301
}
