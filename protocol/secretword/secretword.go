// Package secretword tells by their names what is a secret: what a plugin must not ask for by form, and what a tool
// should not have repeated in a header.
//
//	secretword.In("apiKey")       // true
//	secretword.In("pаsswоrd")     // true, with Cyrillic letters
//	secretword.In("Ihr Passwort") // true
//	secretword.In("passenger")    // false
//
// A text is compared in the form in which people read it: compatibility characters, accents, case, letters that look like
// others, digits in the place of letters and blanks between the letters make no difference.
//
// This package is internal to Sallyport: it is not promised to others.
package secretword

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// In reports whether a text, such as the name of a field, names something that proves who somebody is.
func In(text string) bool {
	text = norm.NFKC.String(text)
	return in(folded(text)) || in(folded(splitCamel(text)))
}

func in(plain string) bool {
	for _, word := range otherWords() {
		if strings.Contains(plain, word) {
			return true
		}
	}
	if latinWords().MatchString(plain) {
		return true
	}
	skeleton := skeletonOf(plain)
	return latinWords().MatchString(skeleton) || latinWords().MatchString(together(skeleton))
}

// latinWords match what is written with the Latin alphabet, after folded.
var latinWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(` + strings.Join([]string{
		`pass ?(word|wd|phrase|code)s?`, `pwd`, `pin`, `secret`, `credentials?`, `(api|access|private|secret|ssh|signing) ?keys?`,
		`(access|auth|bearer|refresh|session|api|security) ?tokens?`, `token`, `otp`, `one ?time ?(code|password)`, `cvv`, `cvc`, `(credit ?)?card ?number`,
		`ssn`, `social ?security ?number`, `(seed|recovery) ?(code|phrase)s?`,
		`pass?wor[dt]\w*`, `kennwort\w*`, `losungswort`, `geheimzahl`, `geheimnis`, `zugangsdaten`, `(api|geheimer|privater) ?schlussel`, `sicherheitscode`, // de
		`mots? de passe`, `code (secret|pin|de securite)`, `cle (api|secrete|privee|d acces)`, `identifiants`, `jeton d acces`, // fr
		`contrasen[ay]a?s?`, `clave (secreta|de acceso|privada|api)`, `codigo de (seguridad|acceso|verificacion)`, `credenciales`, // es, ca
		`senhas?`, `palavra ?passe`, `chave (secreta|privada|de api|de acesso)`, // pt
		`parola d ordine`, `chiave (segreta|privata|api)`, `codice (segreto|di sicurezza)`, // it
		`wachtwoord\w*`, `toegangscode`, `losenord\w*`, `passord\w*`, `adgangskode\w*`, `kodeord\w*`, `salasana\w*`, // nl, sv, no, da, fi
		`hasl[oa]`, `hesl[oa]`, `jelszo\w*`, `lozink\w*`, `zaporka`, `gesl[oa]`, `parool\w*`, `slaptazod\w*`, // pl, cs, hu, hr, sl, et, lt
		`sifre\w*`, `parolaniz\w*`, `mat khau`, `kata ?(sandi|laluan)`, // tr, vi, id, ms
	}, "|") + `)\b`)
})

// otherWords are those of other scripts, after folded. They are found within others, since not all scripts have blanks.
var otherWords = sync.OnceValue(func() []string {
	words := []string{
		"пароль", "пароля", "паролем", "паролю", "парола", "пароли", "лозинка", "лозинку", "кодовое слово", "код доступа", "секретный ключ", "ключ api", "api ключ", // ru, uk, bg, sr
		"κωδικός πρόσβασης", "κωδικό πρόσβασης", "συνθηματικό",
		"סיסמה", "סיסמא", "ססמה", "كلمة المرور", "كلمة السر", "كلمة مرور", "رمز المرور", "گذرواژه", "رمز عبور", "پسورد", "پاسورد",
		"पासवर्ड", "कूटशब्द", "পাসওয়ার্ড", "கடவுச்சொல்", "รหัสผ่าน",
		"密码", "密碼", "口令", "密钥", "密鑰", "验证码", "驗證碼", "パスワード", "パスフレーズ", "暗証番号", "秘密鍵", "合言葉", "비밀번호", "암호", "패스워드", "인증번호",
	}
	for i, word := range words {
		words[i] = folded(word)
	}
	return words
})

// folded is a text in small letters without accents, and with single blanks between words.
func folded(text string) string {
	var b strings.Builder
	blank := true
	for _, r := range norm.NFD.String(strings.ToLower(norm.NFKC.String(text))) {
		switch {
		case unicode.Is(unicode.Mn, r):
			continue
		case unicode.IsSpace(r) || r == '_' || r == '-' || r == '.' || r == '\'' || r == '’':
			if !blank {
				b.WriteByte(' ')
			}
			blank = true
			continue
		}
		blank = false
		b.WriteRune(r)
	}
	return b.String()
}

// likeness is alike the other way round, with the digits and signs that are written for letters.
var likeness = sync.OnceValue(func() map[rune]rune {
	all := map[rune]rune{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's', '!': 'i'}
	for letter, list := range alike {
		for _, r := range list {
			all[r] = letter
		}
	}
	return all
})

// skeletonOf is a folded text with the Latin letters that its characters look like.
func skeletonOf(text string) string {
	return strings.Map(func(r rune) rune {
		if letter, ok := likeness()[r]; ok {
			return letter
		}
		return r
	}, text)
}

// spelt is a word whose letters stand apart.
var spelt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\w( \w){3,}\b`) })

// together joins the letters of words that are spelt.
func together(text string) string {
	return spelt().ReplaceAllStringFunc(text, func(word string) string { return strings.ReplaceAll(word, " ", "") })
}

// splitCamel writes apiKey as api Key.
func splitCamel(text string) string {
	var b strings.Builder
	var lower bool
	for _, r := range text {
		if r >= 'A' && r <= 'Z' && lower {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		b.WriteRune(r)
	}
	return b.String()
}
