# Mail of the host itself goes to the relay of the site.
variable "mail_relay" {
  type    = string
  default = "localhost"
}
variable "domain" { type = string }
variable "admin_mail" { type = string }

package "msmtp-mta" {}
file "/etc/msmtprc" {
  content = <<-EOT
    defaults
    tls on
    tls_trust_file /etc/ssl/certs/ca-certificates.crt
    aliases /etc/aliases
    account default
    host ${var.mail_relay}
    port 587
    from ${split(".", target.name)[0]}@${var.domain}
  EOT
  after   = [package.msmtp-mta]
}
file "/etc/aliases" {
  content = "root: ${var.admin_mail}\ncron: ${var.admin_mail}\ndefault: ${var.admin_mail}\n"
}
file "/etc/mailname" {
  content = "${target.name}\n"
}
