# unbound: answers for our own zones, asks others for the rest.
variable "neighbours" {
  type    = map(string)
  default = {}
}
variable "forwarders" {
  type    = list(string)
  default = ["9.9.9.9", "149.112.112.112"]
}
variable "zones" {
  type    = list(string)
  default = ["ber.example.net", "ams.example.net"]
}

package "unbound" {}
package "dns-root-data" {} # its trust anchor; unbound only recommends it
file "/etc/unbound/unbound.conf.d/shop.conf" {
  template = "templates/shop.conf.tmpl"
  vars     = { forwarders = var.forwarders }
  validate = "unbound-checkconf"
  notify   = [service.unbound.reload]
  after    = [package.unbound]
}
file "zone" {
  for_each = toset(var.zones)
  path     = "/etc/unbound/unbound.conf.d/zone-${each.key}.conf"
  template = "templates/zone.conf.tmpl"
  vars     = { zone = each.key, hosts = { for n, ip in var.neighbours : n => ip if endswith(n, ".${each.key}") } }
  validate = "unbound-checkconf"
  notify   = [service.unbound.reload]
  after    = [package.unbound]
}
service "unbound" {
  enabled = true
  running = true
}
check "dns" {
  tcp = "127.0.0.1:53"
}
