package untrusted_test

// translated are words for a password, a card number and recovery codes, as in the translations of Django,
// django-allauth and django-oscar.
const translated = `
af: Wagwoord|Ou wagwoord
ar: كلمة المرور|كلمة المرور القديمة|رموز الاسترداد|رقم البطاقة|أدخل كلمة المرور الخاص بك
ast: Contraseña
az: Şifrə|Köhnə şifrə|Bərpa kodları|Şifrənizi daxil edin
be: Пароль|Стары пароль
bg: Парола|Стара парола|Кодове за възстановяване|Напишете паролата си
bn: পাসওয়ার্ড|পুরনো পাসওয়ার্ড
br: Ger-tremen|Ger-tremen kozh
bs: Lozinka|Stara lozinka
ca: Contrasenya|Contrasenya antiga|Codis de recuperació|Número de la tarjeta|Introduïu la vostra paraula de pas
ckb: تێپەڕەوشە|تێپەڕەوشەی کۆن
cs: Heslo|Současné heslo|Záchranné kódy|Číslo karty|Zadejte své heslo
cy: Cyfrinair|Hen gyfrinair
da: Adgangskode|Gammel adgangskode|Gendannelseskoder|Kortnummer|Indtast din adgangskode
de: Passwort|Altes Passwort|Wiederherstellungs-Codes|Kartennummer|Geben Sie Ihr Passwort ein
dsb: Gronidło|Stare gronidło
el: Κωδικός|Συνθηματικό|Παλιό συνθηματικό|Κωδικοί ανάκτησης|Αριθμός κάρτας|Εισάγετε τον κωδικό πρόσβασής σας
en: Password|Old password|Card number
eo: Pasvorto|Malnova pasvorto
es: Contraseña|Password|Contraseña antigua|Códigos de recuperación|Número de la tarjeta|Card number|Introduzca su contraseña
et: Parool|Vana salasõna|Varukoodid|Kaardi number|Sisesta oma salasõna
eu: Pasahitza|Pasahitz zaharra|Berreskuratze-kodeak|Txartela zenbakia|Sartu zure pasahitza
fa: رمز عبور|گذرواژهٔ قدیمی|کدهای بازیابی|شماره کارت|گذرواژه خود را وارد کنید
fi: Salasana|Vanha salasana|Palautuskoodit|Kortin numero|Anna salasanasi
fr: Mot de passe|Ancien mot de passe|Codes de récupération|Numéro de carte|Saisissez votre mot de passe
ga: Focal faire|Sean-focal faire
gd: Facal-faire|An seann fhacal-faire
gl: Contrasinal|Contrasinal antigo
he: סיסמה|סיסמה ישנה|קודי שחזור|מספר כרטיס|הזינו סיסמה
hi: कूटशब्द|पुराना शब्दकूट
hr: Zaporka|Stara lozinka|Kodovi za oporavak|Broj kartice|Unesite svoju lozinku
hsb: Hesło|Stare hesło
ht: Modpas|Kòd rekiperasyon|Antre modpas ou
hu: Jelszó|Régi jelszó|Helyreállítási kódok|Kártyaszám|Add meg a jelszavadat
hy: Գաղտնաբառ|Հին գաղտնաբառ
ia: Contrasigno|Ancian contrasigno
id: Kata Sandi|Sandi lama|Kode pemulihan|Nomor kartu|Masukkan kata sandi Anda
is: Lykilorð|Gamalt lykilorð
it: Password|Password attuale|Codici di recupero|Numero carta|Inserisci la tua password
ja: パスワード|元のパスワード|リカバリーコード|カード番号|パスワードを入力してください。
ka: პაროლი|ძველი პაროლი|აღდგენის კოდები|შეიყვანეთ თქვენი პაროლი
kab: Awal n uɛeddi|Awal uffir aqbuṛ
kk: Құпия сөз|Ескі құпия сөз
km: ពាក្យសំងាត់
kn: ಪ್ರವೇಶಪದ|ಹಳೆಯ ಪ್ರವೇಶಪದ
ko: 비밀번호|기존 비밀번호|복구 코드|카드 번호|패스워드 입력
ky: Сырсөз|Эски сырсөз|Калыбына келтирүү коддору|Купуяңызды жазыңыз
lt: Slaptažodis|Senas slaptažodis|Atkūrimo kodai|Kortelės numeris|Įrašykite slaptažodį
lv: Parole|Vecā parole|Atkopšanas kodi|Ievadiet savu paroli
mk: Лозинка|Стара лозинка
ml: പാസ്സ്വേഡ്|പഴയ പാസ്വേര്ഡ്
mn: Нууц үг|Хуучин нууц үг|Сэргээх кодууд|Нууц үгээ оруулна уу
mr: गुप्तशब्द|जुना गुप्तशब्द
ms: Kata laluan|Kata laluan lama
my: စကားဝှက်
nb: Passord|Gammelt passord|Gjenopprettingskoder|Skriv inn passordet ditt
ne: पासवर्ड|पुरानो पासवर्ड
nl: Wachtwoord|Oud wachtwoord|Herstelcodes|Kaart nummer|Voer je wachtwoord in
nn: Passord|Gammalt passord
os: Пароль|Зӕронд пароль
pa: ਪਾਸਵਰਡ|ਪੁਰਾਣਾ ਪਾਸਵਰਡ
pl: Hasło|Stare hasło|Kody odzyskiwania|Numer karty|Wprowadż hasło
pt: Senha|Palavra-passe|Palavra-passe antiga|Senha antiga|Códigos de recuperação|Número do cartão|Insira sua senha|Insira a sua palavra-passe
ro: Parola|Parolă|Parolă veche|Coduri de recuperare|Numar card|Introdu parola ta
ru: Пароль|Старый пароль|Коды восстановления|Номер карты|Введите пароль
sk: Heslo|Staré heslo|Záložné kódy|Číslo karty|Zadajte svoje heslo
sl: Geslo|Staro geslo|Obnovitvene kode|Številka kartice|Vnesite svoje geslo
sq: Fjalëkalim|Fjalëkalim i vjetër
sr: Lozinka|Стара лозинка|Stara lozinka|Кодови за опоравак|Kodovi za oporavak|Serijski broj kartice|Унесите своју лозинку|Unesite svoju lozinku
sv: Lösenord|Gammalt lösenord|Återställningskoder|Kortnummer|Ange ditt lösenord
sw: Nenosiri|Nywila ya zamani
ta: கடவுச்சொல்
te: సంకేతపదం|పాత  సంకేతపదం
tg: Рамз|Рамзи кӯҳна
th: รหัสผ่าน|รหัสผ่านเก่า|รหัสการกู้คืน|ลืมรหัสผ่าน
tk: Parol|Köne parol
tr: Parola|Eski parola|Kurtarma kodları|Kart numarası|Şifrenizi giriniz
tt: Серсүз|Иске серсүз
ug: پارول|كونا پارول
uk: Пароль|Старий пароль|Коди для відновлення|Номер картки|Введіть ваш пароль
ur: لفظ اجازت|پرانا لفظ اجازت
uz: Parol|Qayta tiklash kodlari|Parolingizni kirgizing
vi: Mật khẩu|Mật khẩu cũ|Số thẻ
zh: 密碼|密码|旧密码|舊密碼|恢复代码|恢復代碼|卡号|卡號|输入您的密码|輸入您的密碼：
`

// others are labels of harmless form fields from the same translations.
const others = `
af: E-posadres|Beskrywing|Soek
am: ፈልግ
ar: الأسم الأول|اسم العائلة|البريد الإلكتروني|عنوان بريد إلكتروني|رقم الهاتف|الدولة|عنوان الشحن|المدينة|العنوان|التفاصيل|وصف|التاريخ|الإسم|الكمية|كلمة دليلية|البحث|ابحث|رقم قسيمة الشراء|اسم المستخدم|الرسالة|الولاية/المحافظة|الرمز البريدي|السعر|المنتج|تقييم|الرصيد|الملاحظات
ast: Direición de corréu|Descripción
az: Ad|Soyad|E-poçt|Telefon nömrəsi|Ölkə|Çatdırılma ünvanı|Şəhər|Təsvir|Axtar|İstifadəçi adı|Ştat/Ölkə|Məhsul
be: Адрас эл. пошты|Апісаньне|Шукаць
bg: Име|Фамилия|Имейл адрес|Телефонен номер|Държава|Град|Заглавие|Описание|Търсене|Потребителско име|Пощенски код
bn: নাম প্রথম অংশ|নাম শেষ অংশ|ইমেইল ঠিকানা|ফোন নম্বর|দেশ|শিপিং এর ঠিকানা|শহর|বিবরন|তারিখ|নাম|পরিমান|সার্চ|প্রদেশ/দেশ|পোস্ট কোড/ZIP কোড|পন্য|স্কোর
br: Chomlec'h postel|Klask
bs: Email adresa|Pretraga
ca: Nom|Cognoms|Correu electrònic|Telèfon|País|Adreça d'enviament|Ciutat|Títol|Descripció|Data|Quantitat|Palabra clave|Buscar|Codi del cupó|Nom d'usuari|Assumpte|Missatge|Estat/País|Codi postal|Preu|Producte|Puntuació|Notes
ckb: ناونیشانی ئیمەیڵ|باسکردن|گەڕان
cs: Křestní jméno|Příjmení|Emailová adresa|E-mailová adresa|Telefonní číslo|Země|Doručovací adresa|Město|Titul|Popis|Datu|Jméno|Množství|Klíčové slovo|Vyhledávání|Hledat|Kód slevového kupónu|Uživatelské jméno|Předmět|Zpráva|Okres|PSČ|Cena|Produkt|Recenze|Skóre|Poznámky
cy: Enw cyntaf|Cyfenw|Cyfeiriad ebost|Gwlad|Cyfeiriad danfon|Disgrifiad|Dyddiad|Nifer|Chwilio|Pris|Cynnyrch
da: Fornavn|Efternavn|e-mail-adresse|Telefon|Land|Leveringsadresse|By|Titel|Beskrivelse|Dato|Navn|Antal|Søgeord|Søg|Rabatkode|Brugernavn|Emne|Besked|Stat/region|Postnummer|Pris|Produkt|Anmeldelse|Vurdering|Bemærkninger
de: Vorname|Nachname|E-Mail-Adresse|Telefonnummer|Land|Lieferanschrift|Stadt|Titel|Beschreibung|Datum|Name|Menge|Schlüsselwort|Suche|Gutscheincode|Anmeldename|Betreff|Nachricht|Bundesstaat|PLZ|Preis|Produkt|Bewertung|Hinweise
dsb: E-mailowa adresa|Wopisanje|Pytaś
el: Όνομα|Επίθετο|Διεύθυνση Email|Ηλεκτρονική διεύθυνση|Τηλέφωνο|Χώρα|Διεύθυνση αποστολής|Πόλη|Τίτλος|Περιγραφή|Ημερομηνία|Ποσότητα|Λέξη κλειδί|Αναζήτηση|Κωδικός κουπονιού|Όνομα χρήστη|Θέμα|Μήνυμα|Νομός/Χώρα|Ταχυδρομικός κώδικας|Τιμή|Προϊόν|Κριτική|Βαθμολογία|Σημειώσεις
en: First name|Last name|Email address|Phone number|Country|Shipping address|City|Title|Description|Date|Name|Quantity|Keyword|Search|Coupon code|Subject|Message|State/County|Post/Zip-code|Price|Product|Review|Score|Notes
eo: Retpoŝtadreso|Priskribo|Serĉu
es: Nombre|First name|Apellidos|Apellido|Last name|Correo electrónico|Email address|Dirección de correo electrónico|Teléfono|Número de teléfono|Phone number|País|Country|Dirección de envío|Shipping address|Ciudad|City|Título|Title|Descripción|Description|Fecha|Date|Name|Cantidad|Quantity|Palabra clave|Keyword|Buscar|Search
et: Eesnimi|Perenimi|E-maili aadress|Telefoninumber|Riik|Tarneaadress|Linn|Pealkiri|Kirjeldus|Kuupäev|Nimi|Kogus|Märksõna|Otsi|Kinkekaardi kood|Kasutajanimi|Teema|Sõnum|Maakond|Postiindeks|Hind|Toode|Arvustus|Tulemus|Märkmed
eu: Izena|Abizena|Eposta helbidea|Telefono zenbakia|Herria|Bidalketa helbidea|Hiria|Izenburua|Azalpena|Data|Zenbatekoa|Hitz klabea|Bilatu|Beherapen txartelaren kodea|Erabiltzailea|Gaia|Mezua|Herrialdea|Posta kodea|Salneurria|Produktua|Iritzia eman|Puntuaketa|Notak
fa: نام|نام خانوادگی|ایمیل|شماره تلفن|شماره تلقن|کشور|آدرس تحویل|شهر|عنوان|توضیحات|تاریخ|تعداد|کلمه کلیدی|جستجو|کد کوپن|نامکاربری|موضوع|پیغام|استان|کد پستی|قیمت|محصول|مرور|امتیاز|یادداشت ها
fi: Etunimi|Sukunimi|Sähköpostiosoite|Puhelinnumero|Maa|Toimitusosoite|Kaupunki|Otsikko|Kuvaus|Päivämäärä|Nimi|Määrä|Avainsana|Haku|Kupongin koodi|Käyttäjänimi|Aihe|Viesti|Lääni|Postinumero|Hinta|Tuote|Esikatselu|Pisteet|Huomautukset
fr: Prénom|Nom|Adresse e-mail|Numéro de téléphone|Pays|Adresse de livraison|Ville|Titre|Description|Date|Quantité|Mot-clef|Rechercher|Code de réduction|Nom d'utilisateur|Objet|Message|État/Région|Code postal|Prix|Produit|Avis|Score|Notes
ga: R-phost|Cur síos|Cuardach
gd: Seòladh puist-d|Tuairisgeul|Lorg
gl: Enderezo electrónico|Descrición|Busca
he: שם פרטי|שם משפחה|כתובת אימייל|מספר טלפון|ארץ|כתובת משלוח|עיר|כותרת|תאור|תאריך|שם|כמות|מילת מפתח|חיפוש|קוד שובר|שם משתמש|נושא|הודעה|ארץ/מדינה|מיקוד|מחיר|מוצר|ביקורת|ציון|הערות
hi: पहला नाम|अंतिम नाम|ईमेल पता|फ़ोन नंबर|देश|शिपिंग पता|शहर|विवरण|दिनांक|नाम|मात्रा|खोज|राज्य|डाक कोड|उत्पाद|स्कोर
hr: Ime|Prezime|Adresa e-pošte|Broj telefona|Država|Adresa za dostavu|Grad|Naslov|Opis|Datum|Količina|Ključna riječ|Traži|Kod kupona|Korisničko ime|Poruka|Županija/Okrug|Poštanski broj|Cijena|Proizvod|Recenzija|Ocjena|Bilješke
hsb: E-mejlowa adresa|Wopisanje|Pytać
ht: Adrès imel|Non itilizatè
hu: Keresztnév|Vezetéknév|Email-cím|E-mail cím|Telefonszám|Ország|Szállítási cím|Város|Elnevezés|Leírás|Dátum|Név|Mennyiség|Kulcsszó|Keresés|Kupon kód|Felhasználó azonosító|Tárgy|Üzenet|Megye|Irányítószám|Ár|Termék|Vélemény|Pontszám
hy: Անուն|Ազգանուն|Email հասցե|Հեռախոսի համար|Երկիր|Առաքման հասցե|Քաղաք|ԱՆուն|Քանակ|Փնտրել|Մարզ/Երկիր|Փոստային ինդեքս|Արտադրանք
ia: Adresse de e-mail|Cercar
id: Nama Depan|Nama Belakang|Alamat email|Nomor Telpon|Negara|Alamat Pengiriman|Kota|Judul|Deskripsi|Tanggal|Nama|Jumlah|kata kunci|Mencari|Kode voucher|Nama pengguna|Subjek|Pesan|Provinsi|Kode Pos|Harga|Produk|Ulasan|Skor|Nota
ig: Adreesị ozi ịntanetị
io: E-postala adreso|Serchar
is: Netfang|Leita
it: Nome|Cognome|Indirizzo e-mail|Telefono|Nazione|Indirizzo di spedizione|Città|Titolo|Descrizione|Data|Quantità|Parola chiave|Cerca|Codice voucher|Username|Oggetto|Messaggio|Provincia|CAP|Prezzo|Prodotto|Recensione|Punteggio|Note
ja: 名|姓|メールアドレス|電話番号|　国|配送先住所|市区町村|名称|説明|日付|数量|キーワード|検索|クーポンコード|ユーザー名|件名|メッセージ|都道府県|郵便番号|価格|商品|レビュー|点数|メモ
ka: სახელი|გვარი|ელ-ფოსტის მისამართი|ელ. ფოსტის მისამართი|ტელეფონის ნომერი|ქვეყანა|მიწოდების მისამართი|ქალაქი|სათაური|აღწერა|თარიღი|რაოდენობა|ძებნა|ვაუჩერის კოდი|მომხმარებლის სახელი|დანიშნულება|შეტყობინება|რეგიონი/ქვეყანა|საფოსტო ინდექსი/ზიპ კოდი|ფასი|პროდუქტი|მიმოხილვა|შეფასება
kab: Tansa email|Aglam|Anadi
kk: Email адрес|Іздеу
ko: 이름|성|Email 주소|전화번호|국가|배송지 주소|시|제목|설명|날짜|양|키워드|검색|쿠폰 코드|아이디|주제|메시지|도|우편번호|가격|상품|리뷰|점수|기록
ky: электрондук дарек|Ачыктоо|Издөө|Колдонуучу аты
lb: E-mail Adress
lt: Vardas|Pavardė|El. pašto adresas|Telefono numeris|Šalis|Pristatymo adresas|Miestas|Pavadinimas|Apibūdinimas|Data|Kiekis|Raktažodis|Paieška|Kupono kodas|Naudotojo vardas|Tema|Žinutė|Valstija / Apskritis|Miesto / Pašto kodas|Kaina|Prekė|Apžvalga|Įvertinimas|Pastabos
lv: Vārds|Uzvārds|E-pasta adrese|Telefona numurs|Valsts|Piegādes adrese|Pilsēta|Apraksts|Meklēt|Lietotājvārds|Apgabals/Rajons|Pasta indekss|Produkts|Piezīmes
mk: Адреса за е-пошта (email)|Опис|Барај
ml: ഇ-മെയില് വിലാസം|വിവരണം|പരതുക
mn: Имэйл хаяг|Товчхон|Хайлт|Хэрэглэгчийн нэр
mr: पहिले नाव|आडनाव|विपत्र पत्ता|फोन नंबर|देश|शिपिंग पत्ता|शहर|नाव|शोधा|राज्य / देश|पोस्ट / झिप-कोड|उत्पादन|गुणसंख्या
ms: Alama emel|Penerangan|Cari
my: အီးမေးလ်လိပ်စာ|ရှာဖွေ
nb: Fornavn|Etternavn|E-post adresse|Telefonnummer|Land|Leveranse adresse|By|Tittel|Beskrivelse|Dato|Navn|Antall|Søk|Brukernavn|Fylke|Postnummer|Produkt|Skår
ne: ई-मेल ठेगाना|वर्णन|खोज्नुहोस
nl: Voornaam|Achternaam|E-mailadres|Telefoonnummer|Land|Afleveradres|Stad|Titel|Beschrijving|Datum|Naam|Hoeveelheid|Trefwoord|Zoek|Voucher code|Gebruikersnaam|Onderwerp|Bericht|Staat/provincie|Postcode|Prijs|Product|Review|Score|Notities
nn: E-postadresse|Beskriving|Søk
os: Электрон посты адрис|Агурын
pa: ਈਮੇਲ ਐਡਰੈੱਸ|ਖੋਜ
pl: Imię|Nazwisko|Adres e-mail|Telefon kontaktowy|Kraj|Adres dostawy|Miasto|Tytuł|Opis|Data|Nazwa|Ilość|Słowo kluczowe|Szukaj|Kod vouchera|Nazwa użytkownika|Temat|Wiadomość|Stan/Województwo|Kod pocztowy|Cena|Produkty|Recenzja|Wynik|Notatki
pt: Nome|Primeiro nome|Sobrenome|Último nome|Endereço de e-mail|Endereço de email|Telefone|Número de telefone|País|Endereço de entrega|Morada para entrega|Cidade|Título|Descrição|Data|Quantidade|Palavra-chave|Busca|Pesquisa|Pesquisar|Código do cupom|Código do voucher|Nome de usuário|Nome de utilizador|Assunto|Mensagem|Menssagem|Estado|Distrito|CEP
ro: Prenume|Nume|Adresa de email|Adresă e-mail|Numar telefon|Țară|Adresa livrare|Oraş|Titlu|Descriere|Data|Cantitate|Cuvant cheie|Cautare|Caută|Cod voucher|Nume de utilizator|Subiect|Mesaj|Județ|Cod postal|Pret|Produs|Recenzie|Scor|Note
ru: Имя|Фамилия|Адрес электронной почты|Номер телефона|Телефонный номер|Страна|Адрес доставки|Город|Заглавие|Название|Описание|Дата|Количество|Ключевое слово|Поиск|Найти|Код купона|Имя пользователя|Тема|Сообщение|Регион|Почтовый индекс|Цена|Товар|Отзыв|Балл|Оценка|Заметки
sk: Meno|Priezvisko|Email-ová adresa|Telefónne číslo|Krajina|Dodacia adresa|Mesto|Názov|Popis|Dátum|Množstvo|Kľúčové slovo|Hľadaj|Kód kupónu|Používateľské meno|Predmet|Správa|Okres|PSČ|Cena|Produkt|Recenzia|Skóre|Poznámky
sl: Ime|Priimek|E-poštni naslov|Telefonska številka|Država|Naslov dostave|Mesto|Naziv|Opis|Datum|Količina|Ključna beseda|Iskanje|Išči|Koda kupona|Uporabniško ime|Zadeva|Sporočilo|Zvezna država|Poštna številka|Cena|Izdelek|Mnenje|Točke|Zapiski
sq: Adresë email|Përshkrim|Kërko
sr: Ime|Prezime|Email adresa|Imejl adresa|Telefon|Zemlja|Adresa za isporuku|Grad|Naslov|Opis|Datum|Naziv|Količina|Ključna reč|Traži|Pretraga|Kod vaučera|Корисничко име|Korisničko ime|Poruka|Država|Poštanski broj|Cena|Proizvod|Ocena|Beleške
sv: Förnamn|Efternamn|Epostadress|Telefonnummer|Land|Leveransadress|Stad|Titel|Beskrivning|Datum|Namn|Antal|Sök|Kupongkod|Användarnamn|Ämne|Meddelande|Län|Postnummer|Pris|Produkt|Poäng|Anteckningar
sw: Anuani ya baruapepe|Tafuta
te: ఈమెయిలు చిరునామా|వెతుకు
tg: Суроғаи почтаи электронӣ|Тавсиф|Ёфтан
th: ชื่อ|นามสกุล|อีเมล|เบอร์โทรศัพท์|ประเทศ|ที่อยู่สำหรับส่งสินค้า|เมือง|ค้นหา|ชื่อผู้ใช้|หัวเรื่อง|ข้อความ|รหัสไปรษณีย์|สินค้า|คะแนน
tk: Email adres
tr: Ad|Soyad|Eposta adresi|Telefon Numarası|Telefon numarası|Ülke|Teslimat Adresi|Teslimat adresi|Şehir|Başlık|Açıklama|Tarih|İsim|Adet|Anahtar sözcük|Ara|Kupon kodu|Kullanıcı adı|Konu|Mesaj|Eyalet/Bölge|Şehir/Bölge|Posta Kodu|Posta kodu|Fiyat|Ürün|Değerlendirme|Puan|Notlar
tt: Эл. почта|Эзләргә
udm: Электрон почта адрес
ug: ئېلخەت ئادرېسى|چۈشەندۈرۈش|ئىزدە
uk: Ім'я|Прізвище|Електронна адреса|Телефонний номер|Країна|Адреса доставки|Місто|Назва|Опис|Дата|Кількість|Пошукове слово|Пошук|Код купона|Ім'я користувача|Тема|Повідомлення|Штат/Провінція|Область|Поштовий індекс|Ціна|Товар|Відгук|Оцінка|Нотатки
ur: تلاش کریں
uz: Elektron pochta manzili|Izlash|Foydalanuvchi nomi
vi: Họ|Tên|Địa chỉ email|Số điện thoại|Quốc gia|Địa chỉ giao hàng|Thành phố|Tiêu đề|Mô tả chi tiết|Ngày|Số lượng|Từ khóa|Tìm kiếm|Mã phiếu khuyến mãi|Chủ đề|Tin nhắn|Thành phố/Quốc gia|Mã vùng|Giá|Sản phẩm|Xem lại|Điểm tích lũy|Chú ý
zh: 名字|名|姓氏|姓|e-mail地址|电子邮件地址|電子郵件地址|电话号码|電話號碼|手機號碼|国家|國家|邮寄地址|收货地址|郵遞地址|運送地址|城市|市|稱呼|标题|描述|說明|日期|名稱|名称|姓名|數量|数量|关键词|關鍵字
`
